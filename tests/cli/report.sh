#!/usr/bin/env bash
# What a run was is in its model file; report compares runs in one page.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tests/cli/lib.sh"

priorboost generate --family logistic --rows 16000 --features 4 --seed 1 --out d.csv \
    --test-rows 4000 --test-out t.csv
train() { expect 0 priorboost train --data d.csv --label y --family logistic --seed 1 --threads 1 "$@"; }
train --min-bag 32 --method paper --rounds 8 --test t.csv --out paper.json
train --min-bag 32 --rounds 8 --algorithm pbprefix --test t.csv --out prefix.json
train --min-bag 32 --test t.csv --out auto.json --report auto.html
train --min-bag 32 --epsilon 1 --bounds 0,1 --test t.csv --out noisy.json --json
mv stdout noisy-printed.json
train --min-bag 1 --method paper --rounds 1 --out untested.json

# ---- the model file says the same as train --json, and the same at any time ----
train --min-bag 32 --epsilon 1 --bounds 0,1 --test t.csv --out again.json
cmp noisy.json again.json || fail "the same run wrote another file"
python3 - <<'P' || fail "the record of the run"
import json
run = json.load(open("noisy.json"))["run"]
said = json.load(open("noisy-printed.json"))
assert run["history"] == said["history"], run["history"]
assert run["plan"].items() >= said["plan"].items()
assert len(run["plan"]["standard_errors"]) == 4
for t, round in enumerate(run["history"]):
    assert round["smallest_bag"] >= 32 and round["largest_bag"] >= round["smallest_bag"], round
    assert round["smallest_bag"] * round["bags"] <= round["rows"] <= round["largest_bag"] * round["bags"]
    assert 0 < round["spread"] < 0.5, round
assert run["bounds"] == [0, 1] and run["rows"] == 16000 and run["remote"] is False
P
# Sorted bags hold like rows, feature bags less so; random ones hold anything.
train --min-bag 32 --algorithm oneshot --estimator aggregate --out random.json
python3 - <<'P' || fail "spreads"
import json
spread = {n: json.load(open(n + ".json"))["run"]["history"][-1]["spread"] for n in ("paper", "auto", "random")}
assert spread["paper"] < 0.3 * spread["auto"] and spread["auto"] < 0.8 * spread["random"], spread
P

# ---- the page ----
priorboost generate --family linear --rows 500 --features 3 --seed 1 --out l-names.csv
sed -i '1s/x1/age/;1s/x2/income/' l-names.csv
expect 0 priorboost train --data l-names.csv --label y --family linear --min-bag 8 --out named.json --report named.html
expect 0 priorboost report paper.json prefix.json auto.json noisy.json untested.json --out page.html --json
[ "$(field runs.2.name) $(field runs.0.rounds) $(field runs.4.test_loss)" = "auto 8 null" ] || fail "the runs"
for text in "Loss by round" "Spread within bags" "Weights (95 % intervals)" "1 (simulated)" \
    "loss above the best here" "was planned so because" "(intercept)"; do
    grep -qF "$text" page.html || fail "the page does not say: $text"
done
grep -qF "A run of priorboost" auto.html || fail "train --report"
# The chart of weights has the names of the columns, not their numbers.
for name in $(head -n 1 l-names.csv | tr , ' '); do
    [ "$name" = y ] || grep -qE "class=\"e name\"[^>]*>$name</text>" named.html || fail "no $name on the chart"
done
# A file without a record, another family, a name twice.
mkdir other
python3 -c 'import json; m = json.load(open("paper.json")); del m["run"]; json.dump(m, open("other/paper.json", "w"))'
priorboost generate --family linear --rows 2000 --features 3 --seed 1 --out l.csv
expect 0 priorboost train --data l.csv --label y --family linear --min-bag 8 --out linear.json
expect 0 priorboost report other/paper.json paper.json linear.json --out mixed.html
says "3 runs compared in mixed.html"
for text in "different families" "2: paper"; do
    grep -qF "$text" mixed.html || fail "the page does not say: $text"
done
expect 0 priorboost report other/paper.json --out bare.html
grep -qF "No run has a record of its rounds" bare.html || fail "a model without a record"
# The one chart.
expect 0 priorboost report paper.json auto.json untested.json --out chart.svg
for text in "PriorBoost (the paper)" "aggregate estimator, features bags" "least rows in a bag"; do
    grep -qF "$text" chart.svg || fail "the chart does not say: $text"
done
expect 3 priorboost report paper.json linear.json --out no.svg
says "cannot be compared"
expect 3 priorboost report untested.json --out no.svg
says "train with --test"
no_file no.svg
code=0
"$root/tests/page/check.py" page.html chart.svg --panels 16 --screenshots "${SCREENSHOTS:-screenshots}" || code=$?
[ $code -eq 0 ] || [ $code -eq 77 ] || fail "the page in a browser"

# ---- what is wrong ----
expect 2 priorboost report --out x.html
says "a RUN is required"
expect 2 priorboost report paper.json
says "--out is required"
expect 3 priorboost report paper.json missing.json --out x.html
says "missing.json"
expect 3 priorboost report d.csv --out x.html
says "not a model file"
python3 -c 'import json; m = json.load(open("paper.json")); m["run"] = 5; json.dump(m, open("odd.json", "w"))'
expect 3 priorboost report odd.json --out x.html
says '"run" must be an object'
expect 1 priorboost report paper.json --out /nowhere/x.html
no_file x.html
# A page that cannot be written is known before any label is spent.
expect 1 priorboost train --data d.csv --label y --family logistic --min-bag 32 --out unmade.json --report /nowhere/x.html
no_file unmade.json
finish
