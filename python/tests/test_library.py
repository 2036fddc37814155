"""The binding agrees with the headers, and failures become the exceptions they should."""

import ctypes
import re

import numpy as np
import pytest
from conftest import ROOT

import priorboost as pb
from priorboost import _library, _structures, _structures_io
from priorboost._library import lib
from priorboost._prototypes import PROTOTYPES

HEADERS = [
    path
    for path in sorted((ROOT / "include/priorboost").glob("*.h"))
    if path.stem not in ("priorboost", "ledger")  # all of the others; inside the program only
]

STRUCTURES = {
    re.match(r"``(\w+)``", cls.__doc__).group(1): cls
    for cls in (vars(_structures) | vars(_structures_io)).values()
    if isinstance(cls, type) and issubclass(cls, ctypes.Structure) and cls is not ctypes.Structure
}


def header_text():
    text = "".join(path.read_text() for path in HEADERS)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def header_structs():
    """Names of the fields of every struct, in order."""
    out = {}
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \w+;", header_text(), re.S):
        fields = []
        for statement in re.split(r";", body):
            if function := re.search(r"\(\*(\w+)\)", statement):
                fields.append(function.group(1))
                continue
            for part in statement.split(","):
                if found := re.search(r"(\w+)(\[\w+\])*$", part.strip()):
                    fields.append(found.group(1))
        out[name] = fields
    return out


@pytest.mark.parametrize("name", sorted(STRUCTURES))
def test_structures_are_those_of_the_headers(name):
    assert [field[0] for field in STRUCTURES[name]._fields_] == header_structs()[name]


def test_a_round_is_that_of_the_header():
    assert list(_library.ROUND.names) == header_structs()["pboost_round"]


@pytest.mark.parametrize("name", sorted(PROTOTYPES))
def test_prototypes_are_those_of_the_headers(name):
    declared = re.search(rf"(\w+[ *]+)pboost_{name}\(([^;]*)\);", header_text(), re.S)
    assert declared is not None
    result, arguments = declared.groups()
    n = 0 if arguments.strip() == "void" else arguments.count(",") + 1
    restype, argtypes = PROTOTYPES[name]
    assert len(argtypes) == n
    assert (restype is None) == (result.strip() == "pboost_status")


def test_version_is_that_of_the_build():
    stated = re.search(
        r"project\(priorboost VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text()
    )
    assert pb.__version__ == stated.group(1)


def test_every_status_has_an_exception():
    body = re.search(r"typedef enum pboost_status \{(.*?)\}", header_text(), re.S).group(1)
    names = re.findall(r"PBOOST_(\w+)", body)
    assert [name.lower().replace("_", "-") for name in names] == ["ok", *_library.EXCEPTIONS]
    for status, name in enumerate(_library.EXCEPTIONS, 1):
        assert lib.status_name(status).decode() == name
        assert _library._exception(status) is _library.EXCEPTIONS[name]


def test_a_failure_carries_the_message():
    with pytest.raises(ValueError, match="min_bag is 40"):
        pb.optimal_bags(np.arange(25.0), 40)


def test_the_lock_is_released_in_c():
    """Another thread runs while C works."""
    import threading

    X = np.random.default_rng(0).normal(size=(200_000, 8))
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.0005):
            ticks.append(1)

    thread = threading.Thread(target=tick)
    thread.start()
    pb.PriorBoostRegressor(min_bag=16, rounds=1).fit(X, X[:, 0])
    done.set()
    thread.join()
    assert ticks


def test_statuses_for_callbacks():
    assert lib.status_name(_library.OK) == b"ok"
    assert lib.status_name(_library.CANCELLED) == b"cancelled"
