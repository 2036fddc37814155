#!/usr/bin/env bash
# auto is what train does unless the paper's method is asked for; one more option does not change that.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ---- the README's data: the constant model has 0.69, auto 0.387, all labels about as much ----
priorboost generate --family logistic --rows 50000 --features 6 --seed 1 --out data.csv \
    --test-rows 10000 --test-out test.csv
train() { expect "$1" priorboost train --data data.csv --label y --family logistic --min-bag 32 --json "${@:2}"; }
did() { echo "$(field method) $(field algorithm) $(field estimator) $(field bags) $(field rounds) $(field bag_size) $(field schedule)"; }
is() { [ "$(did)" = "$1" ] || fail "it ran: $(did), not: $1"; }

train 0 --test test.csv
is "auto pbprefix aggregate features 1 32 equal"
auto=$(field test_loss)

# near OPTION...: the loss is at most a hundredth of the way from auto to the constant model worse.  Bags
# that are random, or by the last model alone, say less: they lose two to four thousandths of it.
near() {
    train 0 --test test.csv "$@"
    within 0 "$(python3 -c "print($auto + 0.01 * (0.6931 - $auto))")" "$(field test_loss)"
}
near --rounds 1 && is "auto pbprefix aggregate features 1 32 equal"
near --rounds 4 && is "auto pbprefix aggregate features 4 32 equal"
near --bag-size 50 && is "auto pbprefix aggregate features 1 50 equal"
near --bags features && is "auto pbprefix aggregate features 1 32 equal"
near --bags hybrid && is "auto pbprefix aggregate hybrid 2 32 equal"
near --bags random && is "auto pbprefix aggregate random 1 32 equal"
near --bags prior && is "auto pbprefix aggregate prior 4 32 equal"
near --l2 1 && is "auto pbprefix aggregate features 1 32 equal"
near --schedule geometric && is "auto pbprefix aggregate features 1 32 geometric"
near --schedule geometric --rounds 4 && is "auto pbprefix aggregate features 4 32 geometric"
near --estimator aggregate && is "auto pbprefix aggregate features 1 32 equal"
near --estimator cv && is "auto pbprefix aggregate features 1 32 equal"
# Half of this estimator's loss is the event estimator's, which is biased.
train 0 --test test.csv --estimator interpolated
is "auto pbprefix interpolated features 1 32 equal"
within 0 0.4 "$(field test_loss)"

# ---- the same under noise ----
noise=(--epsilon 1 --bounds 0,1 --seed 1)
near "${noise[@]}" && [ "$(field plan.planned_bag_size) $(field rounds)" = "128 2" ] || fail "no larger bags, or no pilot"
near "${noise[@]}" --rounds 1 && is "auto pbprefix aggregate features 1 128 equal"
near "${noise[@]}" --rounds 4
[ "$(field rounds)" = 4 ] || fail "rounds"
near "${noise[@]}" --bag-size 50 && is "auto pbprefix aggregate features 1 50 equal"
near "${noise[@]}" --schedule equal && is "auto pbprefix aggregate features 1 128 equal"
near "${noise[@]}" --bags prior && [ "$(field bags) $(field rounds)" = "prior 4" ] || fail "prior bags under noise"

# ---- the paper's method, and what implies it ----
train 0 --method paper
is "paper priorboost event prior 16 32 equal"
cp stdout paper.json
for implied in "--algorithm priorboost" "--estimator event"; do
    # shellcheck disable=SC2086
    train 0 $implied
    python3 - <<'P' || fail "$implied is not the paper's method"
import json
a, b = (json.load(open(n)) for n in ("stdout", "paper.json"))
assert [a[k] for k in ("theta", "method", "history")] == [b[k] for k in ("theta", "method", "history")]
P
done
train 0 --round --bounds 0,1 --seed 1
is "paper priorboost event prior 16 32 equal"
train 0 --algorithm oneshot
is "paper oneshot event random 1 32 equal"
train 0 --method paper --bag-size 3000
is "paper priorboost event prior 16 3000 equal"
train 0 --method paper --bag-size 4000
is "paper priorboost event prior 8 4000 equal"
train 0 --method paper --estimator aggregate
is "paper priorboost aggregate prior 16 32 equal"
train 0 --auto --method auto --out model.json
grep -q '"method": "auto"' model.json || fail "the record of the run does not name the method"

# ---- contradictions name both options ----
for wrong in "--algorithm pbprefix" "--estimator event" "--round"; do
    for method in "--auto" "--method auto"; do
        # shellcheck disable=SC2086
        train 2 $method $wrong --out contradiction.json
        says "$method and $wrong contradict each other"
    done
done
train 2 --auto --method paper
says "--auto and --method paper contradict each other"
train 2 --method best
says "--method is 'best'; it must be auto or paper"
no_file contradiction.json

# ---- what cannot be kept is refused before anything is asked ----
train 3 --rounds 2000 --out no.json
says "rounds is 2000, but 50000 rows in equal slices of at least 32 allow at most 1562 rounds"
train 3 --bag-size 50001 --out no.json
says "bags must have at least 50001 rows, but the table has 50000 rows"
train 2 --bag-size 31 --out no.json
says "--bag-size is 31; it must be at least --min-bag, 32"
no_file no.json

# ---- given bags: the method is the default of the estimator ----
python3 - <<'P'
import csv
rows = list(csv.DictReader(open("data.csv")))[:4000]
with open("bags.csv", "w", newline="") as f, open("answers.csv", "w", newline="") as g:
    out = csv.writer(f)
    out.writerow([*(n for n in rows[0] if n != "y"), "bag"])
    answers = csv.writer(g)
    answers.writerow(["bag", "count", "mean"])
    for b in range(400):
        part = rows[b::400]
        answers.writerow([b, len(part), sum(float(r["y"]) for r in part) / len(part)])
        for r in part:
            out.writerow([*(v for n, v in r.items() if n != "y"), b])
P
given() { expect 0 priorboost train --data bags.csv --bag bag --answers answers.csv --family logistic --json "$@"; }
for case in "aggregate auto" "aggregate auto --method auto" "event paper --method paper" "event paper --estimator event"; do
    read -r estimator method options <<<"$case"
    # shellcheck disable=SC2086
    given $options
    [ "$(field estimator) $(field method)" = "$estimator $method" ] || fail "given bags, $case: $(field estimator)"
done
finish
