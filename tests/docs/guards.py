#!/usr/bin/env python3
"""SECURITY.md and tests/ledger/mutants.sh name the same guards.

    guards.py TESTS     TESTS is a file with the name of each test of ctest on a line

Every promise of SECURITY.md has a row in its table "Guards"; every guard there is a mutant of
mutants.sh and the reverse, once each; the test that catches a mutant is among those that the
promise names, and every test that a promise names is one of ctest's.  What a mutant changes is still
in the source.  A row of "Guards" looks like

    | 8 | name of a mutant; name of another |

Exit code 0: all is as it should be; 1: what is not is said on stderr, one line each.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def rows(text, section, columns):
    """The cells of a section's table by their first, the promise's number."""
    body = text.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in body.splitlines() if line.startswith("|")][2:]
    out = {}
    for line in lines:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if len(cells) != columns:
            raise SystemExit(f"SECURITY.md, {section}: {len(cells)} cells instead of {columns}: {line[:60]}")
        if cells[0] in out:
            raise SystemExit(f"SECURITY.md, {section}: there are two rows {cells[0]}; merge them into one")
        out[cells[0]] = cells[1:]
    return out


def program(test):
    """A test by the name of its program: ledger/rules and postgresql:ledger_rules are ledger_rules."""
    return re.sub(r"[/-]", "_", test.split(":")[-1])


def complaints(text, mutants, tests):
    """What is wrong, as sentences; mutants is a list of (name, test)."""
    promises, guards = rows(text, "Promises", 4), rows(text, "Guards", 2)
    caught_by = dict(mutants)
    seen = {}
    names = [name for name, _ in mutants]
    for name in sorted({n for n in names if names.count(n) > 1}):
        yield f"mutants.sh has two mutants '{name}'; give one another name"
    for number in sorted(guards.keys() - promises.keys()):
        yield f"SECURITY.md, Guards: row {number} belongs to no promise"
    for number, (_, _, where) in promises.items():
        named = set(re.findall("`([^`]+)`", where))
        for test in sorted(named - tests):
            yield f"SECURITY.md, promise {number}: there is no test '{test}'"
        if number not in guards:
            yield f"SECURITY.md, Guards: promise {number} has no row; name its mutants there"
            continue
        programs = {program(test) for test in named}
        for name in filter(None, (n.strip() for n in guards[number][0].split(";"))):
            if name in seen:
                yield f"SECURITY.md, Guards: '{name}' is in rows {seen[name]} and {number}; name it once"
            seen[name] = number
            if name not in caught_by:
                yield f"SECURITY.md, Guards, row {number}: mutants.sh has no mutant '{name}'"
            elif program(caught_by[name]) not in programs:
                yield (f"SECURITY.md, promise {number}: '{name}' is caught by {caught_by[name]}, which is not "
                       "among the tests that the promise names")
    for name in names:
        if name not in seen:
            yield f"SECURITY.md, Guards: no row names '{name}' of mutants.sh"


def check_this_test(text, mutants, tests):
    """A check that cannot fail shows nothing: each kind of fault is planted and must be found."""
    name, test = mutants[0]
    row = next(line for line in text.splitlines() if line.startswith("| 3 | ") and "; " in line)
    for what, faulty in (
        ("a mutant that SECURITY.md does not name", (text, [*mutants, ("planted", test)], tests)),
        ("a name without a mutant", (text, mutants[1:], tests)),
        ("two mutants of one name", (text, [*mutants, (name, test)], tests)),
        ("a test that does not exist", (text, mutants, tests - {"ledger/rules"})),
        ("a promise without guards", (text.replace(row, ""), mutants, tests)),
        ("another test than named", (text, [(name, "unit_none"), *mutants[1:]], tests)),
    ):
        if not list(complaints(*faulty)):
            raise SystemExit(f"guards.py does not notice {what}")


def main():
    text = (ROOT / "SECURITY.md").read_text()
    tests = set(pathlib.Path(sys.argv[1]).read_text().split())
    listed = subprocess.run([ROOT / "tests/ledger/mutants.sh", "--list"], stdout=subprocess.PIPE, text=True)
    mutants = [tuple(line.split("\t")) for line in listed.stdout.splitlines()]
    wrong = list(complaints(text, mutants, tests))
    if listed.returncode != 0:
        wrong.append("mutants.sh --list fails: bring the mutants up to date with the source")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    if wrong:
        return 1
    check_this_test(text, mutants, tests)
    print(f"{len(mutants)} guards, each with its mutant and its test")
    return 0


if __name__ == "__main__":
    sys.exit(main())
