"""Takes one guard of the Python package out at a time and shows that a test then fails.

    python python/tests/mutants.py [NAME...]   only mutants whose file and name contain a NAME

A mutant is the package with one piece of text changed, in a folder of its own; the tests named with
it must fail.  Needs what the tests need, and PRIORBOOST_LIBRARY or build/lib/libpriorboost.so.
Exit code 0: all were caught; 1: some survived, or a guard is not where it is said to be.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mutant_list import MUTANTS

ROOT = Path(__file__).resolve().parents[2]


def run(tests: str, file: str, guard: str, instead: str = "if False:") -> str:
    """Return "caught", "SURVIVED", or that there is no such guard."""
    with tempfile.TemporaryDirectory() as folder:
        package = shutil.copytree(ROOT / "python/priorboost", Path(folder) / "priorboost")
        text = (package / file).read_text()
        if guard not in text:
            return "NOT FOUND"
        (package / file).write_text(text.replace(guard, instead))
        library = os.environ.get("PRIORBOOST_LIBRARY", ROOT / "build/lib/libpriorboost.so")
        name, *options = shlex.split(tests)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider",
             "--override-ini=addopts=", ROOT / "python/tests" / name, *options],
            env={**os.environ, "PYTHONPATH": folder, "PRIORBOOST_LIBRARY": str(library)},
            cwd=folder, capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        if done.returncode < 0:  # C was given what a guard keeps from it, and ended the tests
            return "caught"
        return {0: "SURVIVED", 1: "caught"}.get(done.returncode, f"pytest: {done.returncode}")


def main() -> int:
    only = sys.argv[1:] or [""]
    bad = n = 0
    for tests, files in MUTANTS.items():
        for file, mutants in files.items():
            for name, guard, *instead in mutants:
                if not any(words in f"{file}: {name}" for words in only):
                    continue
                result = run(tests, file, guard, *instead)
                n, bad = n + 1, bad + (result != "caught")
                print(f"| {file}: {name} | {tests} | {result} |", flush=True)
    print(f"{n} guards were taken out, {n - bad} were noticed by a test")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
