#!/usr/bin/env bash
# Given sums by key, which share rows (--sums), with and without noise, labels and given bags.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tests/cli/lib.sh"

python3 "$root/examples/margins.py"
train() { priorboost train --data views.csv --family logistic "$@"; }
near() { # near NAME:VALUE...: within 3.5 standard errors, which are not large
    python3 - "$@" <<'PY' || fail "not near the truth: $*"
import json, sys
out = json.load(open("stdout"))
weight = dict(zip(out["columns"], zip(out["theta"], out["standard_errors"])))
for item in sys.argv[1:]:
    name, value = item.rsplit(":", 1)
    estimate, error = weight[name]
    assert 0 < error < 0.3 and abs(estimate - float(value)) < 3.5 * error, (name, estimate, error)
PY
    checks=$((checks + 1))
}

# ---- Sums alone; with labels; with noise ----
expect 0 train --sums sums.csv --exclude click,visits --json --out alone.json
[ "$(field redundant)" = 19 ] || fail "redundant is $(field redundant)" # 43 lines, 1 + 7 + 16 of them matter
[ "$(field rows_spent)" = 20000 ] || fail "rows_spent is $(field rows_spent)"
near device=tablet:0.3 region=south:0.6 age=60+:-1
cp stdout alone.txt
expect 0 train --sums sums.csv --label click --test test.csv --json --out labels.json
near device=phone:0.8 device=tablet:0.3 region=south:0.6 age=60+:-1 visits:0.4
within 0.40 0.45 "$(field history.0.test_loss)"
[ "$(field history.0.bags)" = 1043 ] || fail "bags is $(field history.0.bags)"
expect 0 train --sums noisy.csv --label click
printed 'answers with noise'
expect 0 train --sums noisy.csv --label click --json
near device=phone:0.8 region=south:0.6 age=60+:-1 visits:0.4
expect 0 train --sums sums.csv --label click
printed '19 answers are left out: they follow from others'
printed '95 % interval'
expect 0 priorboost predict --model labels.json --data test.csv --interval --out p.csv
expect 0 priorboost evaluate --model labels.json --data test.csv --label click

# A key that is no feature, and one that is a number: 1 and 1.0 are the same.
expect 0 train --sums sums.csv --exclude click,visits,region --json
python3 -c 'import json; assert not any("region" in c for c in json.load(open("stdout"))["columns"])' || fail "a key that is excluded is a feature"
python3 - <<'PY'
import csv
rows = list(csv.DictReader(open("views.csv")))
with open("numbers.csv", "w") as n, open("number_sums.csv", "w") as s:
    n.write("child,x,y\n"), s.write("child,mean\n")
    total = {}
    for i, r in enumerate(rows[:1000]):
        n.write(f"{i % 4},{r['visits']},\n")
    for child in range(4):
        s.write(f"{child}.0,{0.1 + child / 20}\n")
PY
expect 0 priorboost train --data numbers.csv --sums number_sums.csv --family logistic --label y --json
[ "$(field columns.0)" = child ] || fail "a key of numbers became $(field columns.0)"

# One key makes bags that share nothing: the same as given bags.
awk -F, -v OFS=, 'NR == 1 { print $0, "bag" } NR > 1 { print $0, $1 $2 }' views.csv >bagged.csv
{ echo bag,count,sum; awk -F, -v OFS=, 'NR > 1 && $1 != "" && $2 != "" { print $1 $2, $4, $5 }' sums.csv; } >answers.csv
bagged() { priorboost train --data bagged.csv --family logistic --exclude click,visits,age "$@" --json; }
expect 0 bagged --sums answers.csv --drop bag
cp stdout one.txt
expect 0 bagged --bag bag --answers answers.csv
python3 -c 'import json; a, b = json.load(open("one.txt")), json.load(open("stdout"))
assert all(abs(x - y) < 1e-9 for k in ("theta", "standard_errors") for x, y in zip(a[k], b[k]))' || fail "sums by one key are not given bags"
# Given bags and sums together: those of a partition follow from the sums.
expect 0 bagged --bag bag --answers answers.csv --sums sums.csv
[ "$(field redundant)" = 31 ] || fail "redundant is $(field redundant)"

# ---- Bad input ----
bad() { # bad TEXT SED-SCRIPT: the sums file, changed, is refused
    sed "$2" sums.csv >bad.csv
    expect 3 train --sums bad.csv --label click --out no.json
    says "$1"
    no_file no.json
}
bad "bad.csv has a column 'regoin', which is neither a column of views.csv nor sum, mean, count or variance" '1s/region/regoin/'
bad "bad.csv:2: count is 6698, but 6699 rows of views.csv have device=desktop" '2s/6699/6698/'
bad "count is 6699, but 0 rows of views.csv have device=desk" '2s/desktop/desk/'
bad "bad.csv has neither a column 'sum' nor a column 'mean'; it must have one of them" '1s/sum/clicks/;1s/device/sum_of/;1s/sum_of/device/;1s/clicks/total/'
bad "bad.csv:3: line 2 has the same keys" '3s/.*/desktop,,,6699,791/'
bad "which no logistic labels have; a column 'variance' says that sums are noisy" '2s/791/7910/'
bad "this line has sum" '2s/791/790/'
cut -d, -f1-3,5 sums.csv | sed '2s/desktop/desk/' >bad.csv
expect 3 train --sums bad.csv --exclude click
says "bad.csv:2: no row of views.csv has device=desk; if that is right, a column 'count' with 0 says so"
sed '2s/200$/-1/' noisy.csv >bad.csv
expect 3 train --sums bad.csv --exclude click
says "bad.csv:2: variance is -1; it must be at least 0"
sed '2s/$/x/' sums.csv >bad.csv
expect 3 train --sums bad.csv --exclude click
says "bad.csv:2"
{ cat sums.csv; echo 'watch,,,0,0'; } >zero.csv
expect 0 train --sums zero.csv --exclude click,visits --json
python3 -c 'import json; assert json.load(open("stdout"))["theta"] == json.load(open("alone.txt"))["theta"]' || fail "a line about no row changes the model"
sed '5s/,[01]*$/,2/' views.csv >wrong.csv
expect 3 priorboost train --data wrong.csv --sums sums.csv --label click --family logistic
says "wrong.csv:5"
expect 3 priorboost train --data views.csv --sums missing.csv --family logistic
says "missing.csv"
for option in '--min-bag 5' '--l2 cv' '--covariance sandwich' '--model trees' '--estimator event' \
    '--method paper' '--rounds 2'; do
    # shellcheck disable=SC2086
    expect 2 train --sums sums.csv $option
    says "cannot be used with --sums"
done
expect 2 priorboost train --data views.csv --sums sums.csv --family classes --label click
says "--sums cannot be used with --family classes"
expect 2 priorboost train --data views.csv --sums sums.csv --label region
says "--family is required"
expect 2 train --sums -
says "--sums is '-'; it must be a file"
finish
