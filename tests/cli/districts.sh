#!/usr/bin/env bash
# Districts: results and means of features, or results and a sample of persons (--rows).
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tests/cli/lib.sh"

python3 "$root/examples/election.py"
train() { priorboost train --bag district --answers districts.csv --answer-columns count=voters,sum=yes --out model.json "$@"; }
means() { train --rows means --data districts.csv "$@"; }
sample() { train --rows sample --data sample.csv "$@"; }
near() { # near NAME=VALUE...: within 3.5 standard errors, which are not large
    python3 - "$@" <<'PY' || fail "not near the truth: $*"
import json, sys
out = json.load(open("stdout"))
weight = dict(zip(out["columns"], zip(out["theta"], out["standard_errors"])))
for item in sys.argv[1:]:
    name, value = item.rsplit(":", 1)
    estimate, error = weight[name]
    assert 0 < error < 0.3 and abs(estimate - float(value)) < 3.5 * error, (name, estimate, error)
PY
}

# ---- (a) means, with and without what varies within districts ----
expect 0 means --family logistic --sd _sd --json
near age:-0.03 middle:0.5 high:1.1
[ "$(field rows_spent)" = 300 ] || fail "rows_spent is $(field rows_spent)"
[ "$(field min_bag)" -ge 500 ] || fail "min_bag is $(field min_bag)"
python3 - <<'PY' || fail "the effects of districts, or the assumptions, are not as they should be"
import json
out = json.load(open("stdout"))
assert 0.15 < out["bag_effect_sd"] < 0.25, out["bag_effect_sd"]
assert len(out["assumptions"]) == 2 and "ecological bias" in out["assumptions"][0]
assert "without correlation" in out["assumptions"][1]
assert json.load(open("model.json"))["run"]["assumptions"] == out["assumptions"]
assert out["columns"] == ["age", "middle", "high"], out["columns"]
PY
expect 0 means --family logistic --exclude age_sd,middle_sd,high_sd
printed 'bag effects have standard deviation'
printed '- all persons of a bag have its means; if they differ, weights of a logistic model are too small'
# A linear model needs the means alone: the standard deviations change nothing.
expect 0 means --family linear --exclude age_sd,middle_sd,high_sd --json
cp stdout linear.json
expect 0 means --family linear --sd _sd --json
python3 -c 'import json; a, b = json.load(open("linear.json")), json.load(open("stdout"))
assert a["theta"] == b["theta"] and len(b["assumptions"]) == 1' || fail "standard deviations change a linear model"
# The same as all rows, where every person has the means: two files, a mean, weights by count.
python3 - <<'PY'
import csv
rows = list(csv.DictReader(open("districts.csv")))[:60]
with open("all.csv", "w") as a, open("one.csv", "w") as o, open("few.csv", "w") as f:
    a.write("district,age,high\n"), o.write("district,age,high\n"), f.write("district,count,mean\n")
    for i, r in enumerate(rows):
        line = f'{r["district"]},{r["age"]},{r["high"]}\n'
        a.write(line * (3 + i % 5)), o.write(line)
        f.write(f'{r["district"]},{3 + i % 5},{int(r["yes"]) / int(r["voters"])}\n')
PY
for effects in yes no; do
    for family in linear logistic poisson; do
        few() { priorboost train --family $family --bag district --answers few.csv --bag-effects $effects --l2 0.1 --json "$@"; }
        expect 0 few --rows means --data one.csv
        cp stdout one.json
        expect 0 few --data all.csv
        python3 -c 'import json; a, b = json.load(open("one.json")), json.load(open("stdout"))
for key in ("theta", "standard_errors"):
    assert all(abs(u - v) < 1e-5 * abs(v) for u, v in zip(a[key], b[key])), (key, a[key], b[key])' ||
            fail "$family, effects $effects: a row of means is not its persons"
    done
done

# ---- (b) a sample of persons ----
expect 0 sample --family logistic --json
near age:-0.03 education=low:-1.1 education=middle:-0.6
cp stdout sample.json
python3 -c 'import json; assert "random sample" in json.load(open("stdout"))["assumptions"][1]' || fail "no word about the sample"
expect 0 priorboost evaluate --model model.json --data persons.csv --label yes
expect 0 sample --family logistic --bag-effects no --json
says '--bag-effects yes gives standard errors that allow for it'
python3 -c 'import json; a, b = json.load(open("sample.json")), json.load(open("stdout"))
assert "bag_effect_sd" not in b and all(u > 3 * v for u, v in zip(a["standard_errors"], b["standard_errors"]))' ||
    fail "effects of districts do not widen the intervals"
awk -F, 'NR == 1 || n[$1]++ < 5' sample.csv >small.csv
expect 0 train --rows sample --data small.csv --family logistic
says 'is sampling error'
expect 0 train --rows sample --data small.csv --family poisson
says 'weights of counts are too small'
rm model.json

# ---- Refusals ----
refuse() { # refuse CODE MESSAGE COMMAND...
    expect "$1" "${@:3}"
    says "$2"
    no_file model.json
}
refuse 3 "but 100 rows name it (--rows sample or means says" train --family linear --data sample.csv
refuse 3 "has 100 rows; with --rows means it has one" train --rows means --family linear --data sample.csv
awk -F, 'NR == 1 || n[$1]++ < 1' sample.csv >single.csv
refuse 3 "has a sample of one row" train --rows sample --family linear --data single.csv
sed '2s/^D001,[0-9]*/D001,99/' districts.csv >little.csv
refuse 3 "little.csv:2: bag 'D001' has count 99, but 100 rows name it" priorboost train --rows sample --family linear --data sample.csv --bag district --answers little.csv --answer-columns count=voters,sum=yes --out model.json
refuse 3 "no column ends with --sd _deviation" means --family logistic --sd _deviation
sed '1s/age,/years,/' districts.csv >stem.csv
refuse 3 "column 'age_sd' ends with --sd _sd, but there is no column 'age'" train --rows means --data stem.csv --family logistic --sd _sd --answers stem.csv
sed '2s/,[0-9.]*$/,-1/' districts.csv >negative.csv
refuse 3 "negative.csv:2: 'high_sd' is -1; a standard deviation is not negative" train --rows means --data negative.csv --family logistic --sd _sd
refuse 3 "no column 'people'" means --family linear --answer-columns count=people,sum=yes
refuse 2 "--rows is 'some'; it must be all, sample or means" train --rows some --family linear --data sample.csv
refuse 2 "--bag-effects is 'maybe'; it must be yes or no" means --bag-effects maybe --family linear
refuse 2 "--answer-columns has 'voters'" means --family linear --answer-columns voters
refuse 2 "--sd needs --rows means" sample --family logistic --sd _sd
refuse 2 "--rows sample or means is for --estimator aggregate, not for event" sample --family logistic --estimator event
refuse 2 "--bag-effects is for --estimator aggregate, not for cv" train --data sample.csv --bag-effects yes --family logistic --estimator cv
refuse 2 "--rows needs --bag" priorboost train --data sample.csv --label age --family linear --min-bag 5 --rows means --out model.json
finish
