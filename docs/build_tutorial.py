"""Runs docs/tutorial.py cell by cell and writes docs/tutorial.md and its figures.

python docs/build_tutorial.py [--check]

With --check nothing is written; it fails if the page is not what the script prints, up to the
digits of numbers, which differ a little between processors.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
SCRIPT, PAGE, FIGURES = HERE / "tutorial.py", HERE / "tutorial.md", HERE / "tutorial"

# The same bytes in every run.
matplotlib.rcParams["svg.hashsalt"] = "priorboost"
matplotlib.rcParams["svg.fonttype"] = "none"


def cells(text: str) -> list[tuple[str, str]]:
    """Heads and bodies of the script's cells."""
    parts = re.split(r"^# %%(.*)\n", text, flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def prose(body: str) -> str:
    return "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())


def run() -> tuple[str, dict[str, str]]:
    """The page, and the figures by file name."""
    page, figures, names = [], {}, {"__name__": "tutorial"}
    for head, body in cells(SCRIPT.read_text()):
        if "[markdown]" in head:
            page.append(prose(body))
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(body, "<tutorial>", "exec"), names)
        page.append(f"```python\n{body.strip()}\n```")
        if printed.getvalue():
            page.append(f"```\n{printed.getvalue().rstrip()}\n```")
        if figure := re.match(r" figure: (\S+) (.*)", head):
            drawing = io.StringIO()
            plt.gcf().savefig(drawing, format="svg", metadata={"Date": None})
            plt.close("all")
            figures[figure[1]] = "\n".join(map(str.rstrip, drawing.getvalue().splitlines())) + "\n"
            page.append(f"![{figure[2]}](tutorial/{figure[1]})\n\n*{figure[2]}*")
    return "\n\n".join(page) + "\n", figures


def without_digits(page: str) -> str:
    return re.sub(r" *-?\d+(\.\d+)?", "#", page)


if __name__ == "__main__":
    page, figures = run()
    if "--check" in sys.argv[1:]:
        if without_digits(PAGE.read_text()) != without_digits(page):
            sys.exit(f"{PAGE} is not what the script prints; run docs/build_tutorial.py")
    else:
        PAGE.write_text(page)
        FIGURES.mkdir(exist_ok=True)
        for name, drawing in figures.items():
            (FIGURES / name).write_text(drawing)
