"""A made-up election: what statistics offices publish about one, and what they never publish.

    python3 election.py [FOLDER]

writes districts.csv (results and features of 300 districts), sample.csv (a sample of 100 persons of
each district, without votes) and persons.csv (20,000 persons and their votes: nobody has this file;
here it shows how good a model is).  No district, person or vote is real.  The truth is

    log odds of yes = -0.3 - 0.03 (age - 45) + 0.5 middle + 1.1 high + district

with middle and high the levels of education, and district effects of standard deviation 0.2.
"""

import csv
import math
import pathlib
import random
import sys

LEVELS = ("low", "middle", "high")
EFFECT = {"low": 0.0, "middle": 0.5, "high": 1.1}
HEADS = {
    "districts.csv": [
        "district",
        "voters",
        "yes",
        "age",
        "age_sd",
        "middle",
        "middle_sd",
        "high",
        "high_sd",
    ],
    "sample.csv": ["district", "age", "education"],
    "persons.csv": ["district", "age", "education", "yes"],
}


def person(rng, middle_age, shares):
    """Age, education, and the log odds of yes without the effect of the district."""
    age = min(max(round(rng.gauss(middle_age, 15)), 18), 99)
    education = rng.choices(LEVELS, shares)[0]
    return age, education, -0.3 - 0.03 * (age - 45) + EFFECT[education]


def district(rng, name):
    """The line of a district, its sample, and a few of its persons with their votes."""
    middle_age, effect = rng.gauss(47, 5), rng.gauss(0, 0.2)
    high = 1 / (1 + math.exp(-rng.gauss(-1, 0.7)))
    middle = (1 - high) * rng.uniform(0.35, 0.65)
    voters = []
    for _ in range(rng.randint(500, 3000)):
        age, education, odds = person(rng, middle_age, (1 - middle - high, middle, high))
        voters.append((age, education, rng.random() < 1 / (1 + math.exp(-odds - effect))))
    n = len(voters)
    age = sum(v[0] for v in voters) / n
    age_sd = math.sqrt(sum((v[0] - age) ** 2 for v in voters) / n)
    line = [name, n, sum(v[2] for v in voters), f"{age:.3f}", f"{age_sd:.3f}"]
    for level in LEVELS[1:]:
        share = sum(v[1] == level for v in voters) / n
        line += [f"{share:.5f}", f"{math.sqrt(share * (1 - share)):.5f}"]
    sample = [[name, *v[:2]] for v in rng.sample(voters, 100)]
    persons = [[name, *v[:2], int(v[2])] for v in rng.sample(voters, 20000 // 300 + 1)]
    return [line], sample, persons


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rng = random.Random(1)
    districts = [district(rng, f"D{i + 1:03}") for i in range(300)]
    for part, (name, head) in enumerate(HEADS.items()):
        with open(folder / name, "w", newline="", encoding="utf-8") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(head)
            for parts in districts:
                lines.writerows(parts[part])


if __name__ == "__main__":
    main()
