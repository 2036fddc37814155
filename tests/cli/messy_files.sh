#!/usr/bin/env bash
# Files as people have them: each ends in the right model, or in a message that says what to do.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# make FILE [KEY=VALUE...]: a table of 400 rows with columns age, income, city and y (0 or 1).
# Options of python's csv module and of the table follow as key=value.
make() {
    python3 - "$@" <<'PYTHON'
import random, sys
path, options = sys.argv[1], dict(a.split("=", 1) for a in sys.argv[2:])
random.seed(1)
sep, comma = options.get("sep", ","), options.get("decimal") == "comma"
header = ["age", "income", "city", "y"]
extra = options.get("extra")
rows = []
for i in range(400):
    age, income = random.randint(18, 90), round(random.uniform(5, 90), 2)
    y = int(random.random() < 1 / (1 + 2.718 ** (-(age - 50) / 10)))
    city = random.choice(options.get("cities", "Bonn,Köln,Ulm").split(","))
    cells = [str(age), str(income), city, str(y)]
    if options.get("missing") and i % 50 == int(options.get("from", 0)):
        cells[0] = options["missing"]
    if comma:
        cells[1] = cells[1].replace(".", ",")
    if "label" in options:
        cells[3] = options["label"].split(",")[y]
    if extra == "date":
        cells.insert(0, f"2023-{i % 12 + 1:02d}-{i % 28 + 1:02d}")
    if extra == "id":
        cells.insert(0, str(7000 + (i * 7) % 400))
    if extra == "uuid":
        cells.insert(0, f"{random.getrandbits(64):016x}")
    if extra == "empty":
        cells.insert(0, "")
    if extra == "codes":
        cells.insert(0, random.choice(["250", "401", "E11", "E12", "K70", "Z0"]))
    if extra == "many":
        cells.insert(0, f"shop {int(random.paretovariate(0.25))}")
    rows.append(cells)
if extra:
    header.insert(0, extra)
text = "\n".join(sep.join(r) for r in [header, *rows]) + "\n"
if options.get("end") == "crlf":
    text = text.replace("\n", "\r\n")
open(path, "wb").write((b"\xef\xbb\xbf" if options.get("bom") else b"") + text.encode(options.get("encoding", "utf-8")))
PYTHON
}
logistic() { priorboost train --family logistic --label y --min-bag 4 --json "$@"; }
columns() { # columns EXPECTED: names of the columns of m.json
    [ "$(python3 -c 'import json; print(*json.load(open("m.json"))["columns"])')" = "$1" ] ||
        fail "the columns are $(python3 -c 'import json; print(*json.load(open("m.json"))["columns"])')"
    checks=$((checks + 1))
}
plain='age income city=Köln city=Ulm'

# 1-5: words for missing numbers, first and later, and numbers for missing numbers
n=0
for word in unknown '?' N/A; do
    make f.csv missing="$word" from=$((n++))
    expect 3 logistic --data f.csv
    says "column 'age' is missing (cells such as '$word' count as missing)"
    says '--impute mean'
    expect 0 logistic --data f.csv --impute mean --out m.json
    says "column 'age': 8 cells such as '$word' count as missing"
    columns "$plain"
done
make f.csv missing=-99
expect 0 logistic --data f.csv --na=-99 --impute mean --out m.json
columns "$plain"
within 40 65 "$(python3 -c 'import json; print(json.load(open("m.json"))["features"][0]["fill"])')"
make f.csv missing=abc from=7
expect 3 logistic --data f.csv
says "f.csv:9: column 'age' is 'abc', but other cells are numbers; correct the cell, or say --na 'abc'"
expect 0 logistic --data f.csv --na abc --impute mean --out m.json

# 6-9: decimal commas, tabs, byte order mark, line ends of Windows, another encoding
make f.csv sep=';' decimal=comma
expect 0 logistic --data f.csv --out m.json
says "column 'income': its numbers have a decimal comma"
columns "$plain"
make f.csv sep=$'\t' bom=yes end=crlf
expect 0 logistic --data f.csv --out m.json
columns "$plain"
make f.csv encoding=latin-1
expect 3 logistic --data f.csv
says 'is not UTF-8; save the file as UTF-8'

# 10-12: ids, dates
for extra in id uuid; do
    make f.csv extra=$extra
    expect 0 logistic --data f.csv --out m.json
    says "the values of column '$extra' all differ, like ids; it is left out (--keep $extra"
    columns "$plain"
done
make f.csv extra=id
expect 0 logistic --data f.csv --keep id --out m.json
columns "id $plain"
make f.csv extra=date
expect 3 logistic --data f.csv
says "column 'date' holds dates such as '2023-01-01'; say --date date"
expect 0 logistic --data f.csv --date date --out m.json
columns "date:days $plain"
expect 0 logistic --data f.csv --date date=year+weekday --out m.json
columns "date:year date:weekday=Tue date:weekday=Wed date:weekday=Thu date:weekday=Fri date:weekday=Sat date:weekday=Sun $plain"
printf 'date,age,income,city\nsoon,1,1,Ulm\n' >bad.csv
expect 3 priorboost predict --model m.json --data bad.csv
says "bad.csv:2: column 'date' is 'soon'; it must be a date such as 2024-03-31"
expect 2 logistic --data f.csv --date date=noon
says "'noon' is not a part of a date; the parts are days, year, month, weekday and hour"

# 13-15: columns without a value, codes of numbers and text, many categories
make f.csv extra=empty
expect 0 logistic --data f.csv --out m.json
says "column 'empty' is missing in every row; it is left out"
columns "$plain"
make f.csv extra=codes
expect 0 logistic --data f.csv --out m.json
columns "codes=401 codes=E11 codes=E12 codes=K70 codes=Z0 $plain"
make f.csv extra=many
expect 0 logistic --data f.csv --out m.json
says "column 'many' has many categories"
python3 -c 'import json; m = json.load(open("m.json")); assert m["version"] == 2; assert "many=(other)" in m["columns"]'

# 16-18: labels of text
positive() { python3 -c 'import json; print(json.load(open("m.json"))["positive"])'; }
make f.csv
expect 0 logistic --data f.csv --out plain.json
for words in no,yes False,TRUE n,y F,T Negative,Positive '" no "," Yes "'; do
    make f.csv label="$words"
    expect 0 logistic --data f.csv --out m.json
    says "counts as 1, '"
    python3 -c 'import json; a, b = (json.load(open(f))["theta"] for f in ("m.json", "plain.json")); assert a == b, (a, b)'
    expect 0 priorboost evaluate --model m.json --data f.csv
    printed auc
done
make f.csv label=No,Yes
expect 0 logistic --data f.csv --test f.csv --out m.json
says "note: label 'y': 'Yes' counts as 1, 'No' as 0"
[ "$(positive)" = Yes ] || fail "the model does not say what counts as 1"
make lower.csv label=no,yes
expect 0 priorboost evaluate --model m.json --data lower.csv # the same words
expect 0 logistic --data f.csv --positive No --out m.json
[ "$(positive)" = No ] || fail "--positive does not decide"
make other.csv label=alive,dead
expect 3 priorboost evaluate --model plain.json --data other.csv
says "label 'y' is text ("
says "'dead'"
says "'alive'"
says '--positive VALUE'
expect 3 priorboost evaluate --model m.json --data other.csv
expect 3 logistic --data other.csv
says "say with --positive VALUE which value counts as 1"
make one.csv label=f,m
expect 3 logistic --data one.csv # not true and false
says "label 'y' is text ("
make f.csv label=no,yes
expect 0 logistic --data f.csv --positive yes --out m.json
columns "$plain"
sed '100s/,[a-z]*$/,maybe/' f.csv >third.csv
for positive in '' '--positive yes'; do
    expect 3 logistic --data third.csv $positive
    says "third.csv:100: label 'y' is 'maybe', a third value beside 'yes' and 'no'"
    expect 3 priorboost evaluate --model m.json --data third.csv $positive
    says "third.csv:100: label 'y' is 'maybe', a third value beside 'yes' and 'no'"
done

# 19: packed files, from a file and from a pipe
make f.csv
logistic --data f.csv --out plain.json >/dev/null
gzip -k f.csv
zstd -q f.csv
for file in f.csv.gz f.csv.zst; do
    expect 0 logistic --data $file --out m.json
    cmp -s m.json plain.json || fail "$file gives another model"
    head -c 500 $file >cut
    expect 3 logistic --data cut
    says 'cut is cut: the end of its'
done
printf '\x1f\x8b\x08abcdefghijklmnop' >damaged
expect 3 logistic --data damaged
says 'damaged is damaged: it begins like gzip, but cannot be unpacked'

# a table in several files
head -n 201 f.csv >part-1.csv
{ head -n 1 f.csv; tail -n 200 f.csv; } >part-2.csv
for data in 'part-*.csv' part-1.csv,part-2.csv; do
    expect 0 logistic --data "$data" --out m.json
    cmp -s m.json plain.json || fail "$data gives another model"
done

# 20: categories that were not in training
make new.csv cities=Bonn,Ulm,Trier
expect 0 priorboost predict --model m.json --data new.csv --out p.csv
says "a category that was not in training"
says "'Trier' in column 'city'"
expect 0 priorboost evaluate --model m.json --data new.csv --json
[ "$(field unseen)" -gt 50 ] || fail "unseen cells are not counted"
expect 0 logistic --data f.csv --unseen error --out m.json
expect 3 priorboost predict --model m.json --data new.csv
says "is 'Trier', which was not in the training table; the known values are 'Bonn', 'Köln', 'Ulm'"

# what describe says of them
make f.csv extra=date missing='?' sep=';' decimal=comma
expect 0 priorboost describe f.csv
printed "400 rows"
printed "column 'date' holds dates"
printed "missing are cells such as '?'; needs --impute mean"
printed 'decimal comma'
expect 0 priorboost describe f.csv --json --drop date
[ "$(field columns.1.type)" = number ] || fail "age is not a number"
[ "$(field columns.1.missing)" -eq 8 ] || fail "8 cells are missing"
[ "$(field columns.3.levels)" -eq 3 ] || fail "city has three levels"
expect 2 priorboost describe
says 'FILE is required'
expect 2 priorboost describe f.csv --types age=integer
says "--types has 'age=integer'; it must be COL=number, COL=category or COL=date"
expect 3 logistic --data f.csv --drop nothing
says "--drop: f.csv has no column 'nothing'"
finish
