"""The examples in the docstrings give what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

import priorboost

NEEDS = {"priorboost.arrow.from_arrow": "polars", "priorboost.tables.take_columns": "pandas"}


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for path in sorted(Path(priorboost.__file__).parent.glob("[!_]*.py")):
        for test in finder.find(importlib.import_module(f"priorboost.{path.stem}")):
            if test.examples:
                yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", list(examples()))
def test_example(test):
    if test.name in NEEDS:
        pytest.importorskip(NEEDS[test.name])
    said = []
    result = doctest.DocTestRunner().run(test, out=said.append)
    assert result.failed == 0, "".join(said)
