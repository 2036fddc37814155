#!/usr/bin/env python3
"""Compares what machine_figures printed on two machines: compare.py OURS THEIRS.

Prints, by kind of figure, how many there are and the largest difference; ends with 1 if a figure is
missing or differs by more than its line allows.
"""

import sys


def read(path):
    """Figures by name: tolerance, measure, value."""
    figures = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            words = line.split()
            if len(words) == 4 and words[1] in MEASURES:
                tolerance, measure, name, value = words
                figures[name] = (float(tolerance), measure, value)
    return figures


def difference_of_numbers(a, b, least):
    a, b = float.fromhex(a), float.fromhex(b)
    return 0.0 if a == b else abs(a - b) / max(abs(a), abs(b), least)


MEASURES = {
    "bits": lambda a, b: 0.0 if a == b else 1.0,
    "relative": lambda a, b: difference_of_numbers(a, b, 0.0),
    "unit": lambda a, b: difference_of_numbers(a, b, 1.0),
}


def main():
    ours, theirs = read(sys.argv[1]), read(sys.argv[2])
    wrong = [f"{name} is on one machine alone" for name in sorted(ours.keys() ^ theirs.keys())]
    groups = {}
    for name in ours.keys() & theirs.keys():
        tolerance, measure, value = ours[name]
        difference = MEASURES[measure](value, theirs[name][2])
        if not difference <= tolerance:  # NaN too
            wrong.append(f"{name}: {value} and {theirs[name][2]}, allowed is {tolerance:g}")
        groups.setdefault(name.split("_")[0], []).append((difference, tolerance))
    for kind, found in sorted(groups.items()):
        print(f"{kind}: {len(found)} figures, largest difference {max(found)[0]:.1e}, allowed {found[0][1]:g}")
    if not groups:
        wrong.append("there are no figures")
    print(*wrong[:20], sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
