"""Made-up clicks: what an advertiser gets about them, and what it never gets.

    python3 margins.py [FOLDER]

writes views.csv (20,000 views of an advertisement; the column click is empty but for 1,000 views),
sums.csv (clicks by device, by region, by age and by each pair of these), noisy.csv (the same sums
with Laplace noise of variance 200) and test.csv (5,000 views with their clicks: nobody has this
file; here it shows how good a model is).  No view is real.  The truth is

    log odds of a click = -2 + 0.8 phone + 0.3 tablet - 0.5 (age 40-59) - 1 (age 60+)
                          + 0.6 south + 0.4 visits
"""

import csv
import itertools
import math
import pathlib
import random
import sys

KEYS = {
    "device": {"desktop": 0.0, "phone": 0.8, "tablet": 0.3},
    "region": {"east": 0.0, "north": 0.0, "south": 0.6, "west": 0.0},
    "age": {"18-39": 0.0, "40-59": -0.5, "60+": -1.0},
}
HEAD = [*KEYS, "visits", "click"]


def view(rng):
    """The cells of a view, its click last."""
    cells = [rng.choice(list(levels)) for levels in KEYS.values()]
    visits = max(0.0, rng.gauss(1.0 if cells[0] == "phone" else 0.5, 0.8))
    odds = -2 + 0.4 * visits
    odds += sum(levels[c] for levels, c in zip(KEYS.values(), cells, strict=True))
    return [*cells, round(visits, 3), int(rng.random() < 1 / (1 + math.exp(-odds)))]


def sums_of(views):
    """Lines of clicks by one key and by two; an empty cell stands for any value."""
    numbers = range(len(KEYS))
    for used in [*itertools.combinations(numbers, 1), *itertools.combinations(numbers, 2)]:
        clicks, count = {}, {}
        for v in views:
            cells = tuple(v[k] if k in used else "" for k in numbers)
            clicks[cells] = clicks.get(cells, 0) + v[-1]
            count[cells] = count.get(cells, 0) + 1
        for cells in sorted(clicks):
            yield [*cells, count[cells], clicks[cells]]


def laplace(rng, scale):
    """Return noise of variance 2 scale^2."""
    return scale * (rng.expovariate(1) - rng.expovariate(1))


def write(path, head, lines):
    """Write a table."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(head)
        table.writerows(lines)


def main():
    """Write the four files."""
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rng = random.Random(1)
    views = [view(rng) for _ in range(20000)]
    sums = list(sums_of(views))
    noisy = [[*line[:-1], round(line[-1] + laplace(rng, 10), 3), 200] for line in sums]
    known = [[*v[:-1], v[-1] if i < 1000 else ""] for i, v in enumerate(views)]
    write(folder / "views.csv", HEAD, known)
    write(folder / "sums.csv", [*KEYS, "count", "sum"], sums)
    write(folder / "noisy.csv", [*KEYS, "count", "sum", "variance"], noisy)
    write(folder / "test.csv", HEAD, [view(rng) for _ in range(5000)])


if __name__ == "__main__":
    main()
