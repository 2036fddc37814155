"""The tutorial runs, and its page is what it printed."""

import subprocess
import sys

import pytest
from conftest import ROOT

import priorboost


def test_the_page_is_what_the_script_prints():
    pytest.importorskip("statsmodels")
    pytest.importorskip("matplotlib")
    done = subprocess.run(
        [sys.executable, ROOT / "docs/build_tutorial.py", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert priorboost.__version__
