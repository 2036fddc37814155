"""What the package does on the command line: ``python -m priorboost convert IN OUT``."""

from __future__ import annotations

import argparse
import sys

from .convert import convert


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit code, as the program's: 2 usage, 3 bad input, 1 other."""
    parser = argparse.ArgumentParser(
        prog="python -m priorboost",
        description="Tools around the program priorboost, which has the other commands.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    to_csv = commands.add_parser(
        "convert",
        help="write a Parquet or Arrow file as a CSV file",
        description="Writes a Parquet, Feather or Arrow file as a CSV file, which priorboost reads."
        "  Numbers keep every digit; null and NaN are empty cells.  The file is whole or not there."
        "  Needs pyarrow: pip install 'priorboost[parquet]'.",
    )
    to_csv.add_argument("source", metavar="IN", help="a .parquet, .feather or .arrow file")
    to_csv.add_argument("out", metavar="OUT", help="the CSV file: .csv, .csv.gz or .csv.zst")
    said = parser.parse_args(arguments)
    try:
        rows = convert(said.source, said.out)
    except (ValueError, FileNotFoundError, IsADirectoryError) as problem:
        print(f"{parser.prog} {said.command}: {problem}", file=sys.stderr)
        return 3
    except (ImportError, OSError) as problem:
        print(f"{parser.prog} {said.command}: {problem}", file=sys.stderr)
        return 1
    print(f"{said.out}: {rows} rows", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
