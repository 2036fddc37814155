#!/usr/bin/env python3
"""The splits of experiments/tables.py: those at random stay as they are, so that figures can be compared; by person, all
rows of a person are on the same side."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "experiments"))
sys.dont_write_bytecode = True

from tables import split, split_persons  # noqa: E402

ROWS = [{"row": str(i), "town": "rare" if i == 7 else "ab"[i % 2]} for i in range(100)]
PERSON = [str(i // 5) for i in range(100)]


def numbers(rows):
    return [int(r["row"]) for r in rows]


def check(true, what):
    if not true:
        sys.exit(what)


def main():
    train, test = split(ROWS, 1)
    check(sorted(numbers(train) + numbers(test)) == list(range(100)), "a row is lost")
    check(numbers(train)[:5] == [53, 37, 65, 51, 4], f"the split of seed 1 begins with {numbers(train)[:5]}")
    check(7 in numbers(train), "a level that only the test part has is not moved over")
    for seed in range(1, 21):
        train, test, person = split_persons(ROWS, PERSON, seed)
        trained = {PERSON[i] for i in numbers(train)}
        check(person == [PERSON[i] for i in numbers(train)], "rows and persons do not go together")
        check(len(trained) == 16, f"{len(trained)} of 20 persons are in the training part")
        check(not trained & {PERSON[i] for i in numbers(test)}, "a person is on both sides")
        check({r["town"] for r in test} <= {r["town"] for r in train}, "the test part has a level of its own")
        check(len(train) + len(test) >= 99, "more rows are left out than have a level of their own")
    parts = [numbers(split_persons(ROWS, PERSON, seed)[0]) for seed in (1, 1, 2)]
    check(parts[0] == parts[1] != parts[2], "a split is not a function of the seed")
    print("ok")


if __name__ == "__main__":
    main()
