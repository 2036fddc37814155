"""The Python blocks of README.md and docs/*.md run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


def test_the_python_blocks_of_the_documentation_run():
    library = Path(os.environ.get("LIBRARY", ROOT / "build/lib/libpriorboost.so"))
    if not library.exists():
        pytest.skip(f"the blocks run on the library in build/, and there is no {library}")
    done = subprocess.run(
        [sys.executable, ROOT / "tests/docs/run_blocks.py", "--only", "python"],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert " 0 python" not in done.stdout, done.stdout  # this Python has what they need
