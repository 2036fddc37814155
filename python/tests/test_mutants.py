"""The guards that mutants.py takes out are where its list says."""

from pathlib import Path

from mutant_list import MUTANTS

import priorboost as pb

PACKAGE = Path(pb.__file__).parent


def test_every_guard_is_found():
    lost = [
        f"{file}: {name}"
        for files in MUTANTS.values()
        for file, mutants in files.items()
        for name, guard, *_ in mutants
        if guard not in (PACKAGE / file).read_text()
    ]
    assert lost == []
