"""The examples in the docstrings give what they say."""

import doctest
import importlib
import pkgutil

import pytest

import priorboost

NEEDS = {"priorboost.data.from_arrow": "polars"}


def examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for found in pkgutil.iter_modules(priorboost.__path__, "priorboost."):
        for test in finder.find(importlib.import_module(found.name)):
            if test.examples:
                yield pytest.param(test, id=test.name)


@pytest.mark.parametrize("test", list(examples()))
def test_example(test):
    if test.name in NEEDS:
        pytest.importorskip(NEEDS[test.name])
    said = []
    result = doctest.DocTestRunner().run(test, out=said.append)
    assert result.failed == 0, "".join(said)
