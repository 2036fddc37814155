"""A made-up election with four parties.

    python3 parties.py [FOLDER]

writes people.csv (12,000 persons: id, district, age, education, without votes), votes.csv (id and
party: what a label holder has), voters.csv (both together), districts.csv (how many voted for each
party in each of 300 districts: what is published) and check.csv (4,000 other persons with their
votes: nobody has this file; here it shows how good a model is).  No district, person or vote is
real.  The truth, as log odds against blue:

    green   -0.2 - 0.03 (age - 45) + 0.9 high
    red      0.3 + 0.00 (age - 45) - 0.6 high
    yellow  -0.9 + 0.02 (age - 45) + 0.5 high
"""

import csv
import math
import pathlib
import random
import sys

PARTIES = ("blue", "green", "red", "yellow")
TRUTH = {
    "blue": (0.0, 0.0, 0.0),
    "green": (-0.2, -0.03, 0.9),
    "red": (0.3, 0.0, -0.6),
    "yellow": (-0.9, 0.02, 0.5),
}


def person(rng, middle_age, share):
    """Age, education and party."""
    age = min(max(rng.gauss(middle_age, 14.0), 18.0), 95.0)
    high = rng.random() < share
    odds = [
        math.exp(level + by_age * (age - 45.0) + by_high * high)
        for level, by_age, by_high in TRUTH.values()
    ]
    return round(age, 1), "high" if high else "low", rng.choices(PARTIES, odds)[0]


def write(path, head, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rng = random.Random(4)
    people, votes, districts, check = [], [], [], []
    for d in range(300):
        middle_age, share = rng.uniform(32.0, 62.0), rng.uniform(0.05, 0.75)
        counts = dict.fromkeys(PARTIES, 0)
        for i in range(40):
            age, education, party = person(rng, middle_age, share)
            name = f"d{d}-{i}"
            people.append((name, f"d{d}", age, education))
            votes.append((name, party))
            counts[party] += 1
        districts.append((f"d{d}", 40, *counts.values()))
    for i in range(4000):
        check.append((f"c{i}", *person(rng, rng.uniform(32.0, 62.0), rng.uniform(0.05, 0.75))))
    write(folder / "people.csv", ("id", "district", "age", "education"), people)
    write(folder / "votes.csv", ("id", "party"), votes)
    both = [(*row, party) for row, (_, party) in zip(people, votes, strict=True)]
    write(folder / "voters.csv", ("id", "district", "age", "education", "party"), both)
    write(folder / "districts.csv", ("district", "count", *PARTIES), districts)
    write(folder / "check.csv", ("id", "age", "education", "party"), check)


if __name__ == "__main__":
    main()
