#!/usr/bin/env bash
# Before any label is spent, plan says how to ask; train does it.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tests/cli/lib.sh"

priorboost generate --family linear --rows 10000 --features 4 --noise 1 --seed 1 --out d.csv \
    --test-rows 5000 --test-out e.csv

# ---- the plan reads no label: it is the same without them ----
plan() { expect 0 priorboost plan --data d.csv --label y --family linear --min-bag 16 --threads 1 "$@"; }
plan --json
[ "$(field recommended.bags) $(field recommended.bag_size) $(field recommended.rounds)" = \
    "features 16 1" ] || fail "recommendation without noise"
[ "$(field recommended.estimator) $(field no_better_than_mean) $(field assumed_effect)" = \
    "aggregate false true" ] || fail "fields of the plan"
within 0 1 "$(field recommended.excess)"
cp stdout with-labels.json
python3 - <<'P'
import csv
rows = list(csv.DictReader(open("d.csv")))
names = [n for n in rows[0] if n != "y"]
with open("x.csv", "w", newline="") as f:
    w = csv.DictWriter(f, names, extrasaction="ignore"); w.writeheader(); w.writerows(rows)
P
expect 0 priorboost plan --data x.csv --family linear --min-bag 16 --threads 1 --json
cmp stdout with-labels.json || fail "the plan depends on labels"

# ---- noise: larger bags; several epsilons; charts ----
plan --epsilon 0.5,5,none --bounds=-16,16 --json
small=$(field recommended.bag_size)
[ "$small" -gt 16 ] || fail "strong noise does not enlarge bags"
python3 -c 'import json; d=json.load(open("stdout")); e={p["epsilon"] for p in d["points"]}
assert e == {0.5, 5.0, None}, e' || fail "epsilons"
plan --epsilon 0.5 --bounds=-16,16 --out plan.html
printed "Recommended: --estimator aggregate --bags features"
printed "because larger bags reduce the noise"
for text in "<svg" "--estimator aggregate --bags features" "because larger bags reduce the noise" "Every way of asking" \
    "aggregate, features, 1 round (recommended)" "an effect of modest size, assumed"; do
    grep -qF -- "$text" plan.html || fail "the page does not say: $text"
done
code=0
"$root/tests/page/check.py" plan.html --panels 1 --screenshots "${SCREENSHOTS:-screenshots}" || code=$?
[ $code -eq 0 ] || [ $code -eq 77 ] || fail "the page in a browser"
plan --out plan.svg --quiet
head -c 4 plan.svg | grep -q "<svg" || head -c 100 plan.svg | grep -q "svg" || fail "no SVG"
plan --epsilon 0.0001 --bounds=-16,16
says "warning: no way of asking"
expect 0 priorboost plan --data x.csv --family logistic --min-bag 16 --mean 0.0005
says "events are expected"

# ---- several k and epsilon: one table, one chart, and the fields of the first pair ----
grid=(--min-bag 8,32,20000 --epsilon none,1,0.1 --bounds=-16,16)
costs() { expect 0 priorboost plan --data d.csv --label y --family linear --threads 1 "${grid[@]}" "$@"; }
costs --json
[ "$(field min_bag) $(field costs.0.min_bag) $(field costs.0.epsilon) $(field costs.2.epsilon)" = "8 8 null 0.1" ] ||
    fail "the pairs are not in order"
[ "$(field costs.6.min_bag) $(field costs.6.possible) $(field costs.5.possible)" = "20000 false true" ] ||
    fail "a k that is larger than the table"
[ "$(field measure) $(field target) $(field targets)" = "r2 null []" ] || fail "fields of the costs"
python3 - <<'P' || fail "the costs are not in order"
import json
d = json.load(open("stdout"))
for k in (0, 3):
    none, one, tenth = d["costs"][k:k + 3]
    for name in ("kept", "as_good_as_labels", "measure"):
        assert none[name] > one[name] > tenth[name], name
    assert d["loss_all_labels"] < none["loss"] < one["loss"] < tenth["loss"]
    assert none["measure"] < d["measure_all_labels"] < 1
assert d["costs"][0]["kept"] > d["costs"][3]["kept"]  # k = 8, k = 32
assert abs(d["costs"][0]["excess"] - d["recommended"]["excess"]) < 1e-12
P
costs
printed "k  epsilon  bag size       loss     kept     as good as       R2"
printed "20000   larger than the table, which has 10000 rows"
printed "all labels"
[ "$(grep -c '%' stdout)" -eq 8 ] || fail "the table is not one line a pair"
costs --out costs.html --quiet
for text in "Expected loss, and labels that would do as well" "too few rows" "as good as labels of" "An effect" "all labels"; do
    grep -qiF -- "$text" costs.html || fail "the page does not say: $text"
done
code=0
"$root/tests/page/check.py" costs.html --panels 2 --screenshots "${SCREENSHOTS:-screenshots}" || code=$?
[ $code -eq 0 ] || [ $code -eq 77 ] || fail "the page in a browser"
costs --out costs.svg --quiet
grep -qF "labelled rows that do as well" costs.svg || fail "no chart of the costs"
plan --epsilon 1 --bounds=-16,16
printed "Expected on new rows: loss"
tr "\n" " " <stdout | grep -q "as good as the labels of [0-9,]* of the 10,000 rows" || fail "no number of labels"

# ---- a target: the least epsilon reaches it, a smaller one does not ----
grid=(--min-bag 16 --epsilon 1 --bounds=-16,16)
costs --target 5% --json
least=$(field targets.0.least_epsilon)
within 0.01 10 "$least"
rows=$(field costs.0.rows_needed)
within 100 1e7 "$rows"
grid=(--min-bag 16 --epsilon "$least,$(python3 -c "print('%.2g' % (0.9 * $least))")" --bounds=-16,16)
costs --json
within 0.95 1 "$(field costs.0.kept)"
within 0 0.95 "$(field costs.1.kept)"
grid=(--min-bag 16,64 --epsilon none,1 --bounds=-16,16)
costs --target 5%
printed "With k = 16, epsilon $least is the smallest that is within 5 % of all labels."
printed "rows needed"
grid=(--min-bag 512)
costs --target 1%
printed "needs --bounds LO,HI"
grid=(--min-bag 512 --bounds=-16,16)
costs --target 0.01%
printed "no epsilon is within 0.01 % of all labels on these rows"
wrong() { expect 2 priorboost plan --data d.csv --label y --family linear --bounds=-16,16 --min-bag 16 "$@"; }
for target in 200% 0% 5 -1% five% 100% 5%%; do
    wrong --target "$target"
    says "--target is '$target'; it must be a percentage above 0 and below 100, such as 5%"
done
wrong --epsilon 0
says "epsilon is 0; it must be a positive number"
wrong --epsilon 1,0
says "epsilon is 0; it must be a positive number"
wrong --epsilon 1,,2
says "--epsilon is '1,,2'; it must be values with commas between them, none of them empty"
wrong --min-bag 8,x
says "--min-bag is 'x'; it must be a whole number"
wrong --min-bag "$(seq -s, 1 30)" --epsilon 1,2,3
says "30 values of --min-bag and 3 of --epsilon are more than 64 pairs"
expect 3 priorboost plan --data d.csv --label y --family linear --min-bag 30000,40000
says "the table has 10000 rows"

# ---- --mean is the mean of what the plan assumes, also where the link is curved and with an offset ----
awk -F, 'NR == 1 {print $0 ",exposure"} NR > 1 {print $0 "," NR % 5 - 1}' d.csv > exposed.csv
for family in linear logistic poisson; do
    for table in d.csv "exposed.csv --offset exposure"; do
        # shellcheck disable=SC2086
        expect 0 priorboost plan --data $table --label y --family $family --min-bag 16 --mean 0.02 --json
        [ "$(field mean)" = 0.02 ] || fail "$family, $table: the mean is $(field mean), not 0.02"
        [ $family = linear ] || within 199.9 200.1 "$(field events)"
    done
done
plan --mean 3.25
printed "mean label 3.25,"
expect 2 priorboost plan --data d.csv --label y --family linear --min-bag 16 --mean 1 --no-intercept
says "--mean cannot be used with --no-intercept"

# ---- train without any choice plans for itself; --auto says so ----
train() { expect 0 priorboost train --data d.csv --label y --family linear --min-bag 16 --seed 1 --threads 1 \
    --test e.csv --json "$@"; }
train
[ "$(field estimator) $(field bags) $(field rounds) $(field bag_size)" = "aggregate features 1 16" ] ||
    fail "train does not follow the plan"
within 0.9 1.15 "$(field test_loss)"
within 0 0.1 "$(field plan.forecast_excess)"
train --auto --epsilon 1 --bounds=-16,16
[ "$(field rounds)" = 1 ] || fail "a pilot that cannot measure anything"
within 0.9 1.3 "$(field test_loss)"
train --auto --epsilon 8 --bounds=-16,16
[ "$(field rounds)" = 2 ] || fail "no pilot"
within 0.5 50 "$(field plan.learnt_dispersion)"
within 0.9 1.3 "$(field test_loss)"
train --auto --epsilon 0.0001 --bounds=-16,16
says "warning: no way of asking"
grep -q '"no way of asking' stdout || fail "a no_better_than_mean plan is not among the warnings"

# ---- noise that drowns even the mean: the training ends, with a constant model and a warning ----
priorboost generate --family poisson --rows 3000 --features 3 --seed 2 --out counts.csv
drown() { expect 0 priorboost train --data counts.csv --label y --family poisson --min-bag 16 --epsilon 0.01 \
    --bounds 0,15 --seed 3 --threads 1 "$@"; }
for seed in 1 2 3 4; do
    drown --auto --seed $seed
    [ $seed -gt 1 ] || drown --auto --seed $seed --json
done
drown --estimator event
says "masks even the mean"
drown --estimator aggregate --bags features
says "masks even the mean"

# ---- trees want smaller bags under noise: what plan says is what train asks for ----
noisy=(--data d.csv --label y --family linear --epsilon 0.5 --bounds=-16,16)
expect 0 priorboost plan "${noisy[@]}" --min-bag 16 --json
size=$(field costs.0.bag_size) small=$(field costs.0.tree_bag_size)
[ "$size" -gt 128 ] && [ "$small" -eq $((size / 2)) ] || fail "bags of $size and, for trees, $small"
expect 0 priorboost plan "${noisy[@]}" --min-bag 16
grep -q "ask for bags of $small rows (--bag-size $small)" stdout || fail "nothing about a model that is chosen later"
expect 0 priorboost plan "${noisy[@]}" --min-bag 16 --model auto --out auto.html
grep -q "With --model auto train asks for bags of $small rows, not $size" stdout || fail "nothing about auto"
grep -q "With --model auto train asks for bags of $small rows, not $size" auto.html || fail "nothing about auto on the page"
expect 0 priorboost train "${noisy[@]}" --min-bag 16 --rounds 1 --model trees --seed 1 --json --force
[ "$(field bag_size)" -eq "$small" ] || fail "train asks for bags of $(field bag_size)"
for model in glm smooth; do
    expect 0 priorboost plan "${noisy[@]}" --min-bag 16 --model $model
    grep -q trees stdout && fail "trees with --model $model"
done
expect 0 priorboost plan --data d.csv --label y --family linear --min-bag 16 --model trees
grep -q 'With --model trees train asks for the same bags' stdout || fail "nothing about trees without noise"
expect 0 priorboost plan "${noisy[@]}" --epsilon 0.2 --min-bag 16 --model trees
grep -q 'With --model trees train asks for the same bags' stdout || fail "smaller bags although they let through much noise"
expect 0 priorboost plan "${noisy[@]}" --min-bag 16,64 --model auto --out pairs.html
tr '\n' ' ' <stdout | grep -q -- '--model auto: ask for smaller bags in some of these cases' || fail "nothing about auto beside pairs"
expect 2 priorboost plan "${noisy[@]}" --min-bag 16 --model bent
says "--model is 'bent'; it must be glm, smooth, trees or auto"

# ---- a prior, and what is wrong ----
expect 0 priorboost train --data d.csv --label y --family linear --min-bag 16 --out prior.json
plan --prior prior.json --dispersion 1 --json
[ "$(field assumed_effect)" = false ] || fail "the prior is not used"
expect 2 priorboost plan --data d.csv --label y --family linear --min-bag 16 --prior prior.json --mean 1
says "--mean cannot be used with --prior"
expect 2 priorboost plan --data d.csv --label y --family linear --min-bag 16 --epsilon 1
says "--epsilon needs --bounds"
expect 2 priorboost plan --data d.csv --family linear
says "--min-bag is required"
expect 3 priorboost plan --data d.csv --label y --family linear --min-bag 30000
says "min_bag is 30000, but the table has 10000 rows"
expect 3 priorboost plan --data d.csv --family linear --min-bag 16 --prior prior.json
says "the prior must have the columns of the table"

# ---- classes: the plan of one class against all others, which is that of train ----
awk -F, -v OFS=, 'NR == 1 { $1 = "party" } NR > 1 { $1 = substr("abc", NR % 3 + 1, 1) } 1' d.csv >parties.csv
label=$(head -1 d.csv | cut -d, -f1)
[ "$label" != y ] || fail "the test has overwritten the label"
classes=(--data parties.csv --label party --exclude y --min-bag 16 --epsilon 1)
expect 0 priorboost plan "${classes[@]}" --classes 3 --json
[ "$(field classes)" -eq 3 ] || fail "the plan does not say that it is for classes"
size=$(field recommended.bag_size) excess=$(field recommended.excess)
expect 0 priorboost train "${classes[@]}" --seed 1 --json --force
[ "$(field bag_size)" -eq "$size" ] || fail "plan recommends bags of $size, train asks for $(field bag_size)"
expect 0 priorboost plan --data parties.csv --label party --exclude y --family logistic --bounds 0,1 --step 1 --min-bag 16 --epsilon 0.5 --json
[ "$(field recommended.bag_size) $(field recommended.excess)" = "$size $excess" ] || fail "a count of classes has not half of epsilon"
expect 2 priorboost plan "${classes[@]}" --classes 2
says "--classes is 2; it must be 3 or more"
expect 2 priorboost plan "${classes[@]}" --classes 3 --family poisson
says "--classes cannot be used with --family"
expect 2 priorboost plan "${classes[@]}" --classes 3 --bounds 0,1
says "--classes cannot be used with --bounds"

# ---- what plan recommends is what train runs, also where the paper's estimator is forecast to be better ----
priorboost generate --family poisson --rows 500 --features 8 --seed 1 --out small.csv
expect 0 priorboost plan --data small.csv --label y --family poisson --min-bag 64 --json
recommended="$(field recommended.estimator) $(field recommended.bags) $(field recommended.rounds)"
expect 0 priorboost train --data small.csv --label y --family poisson --min-bag 64 --json
[ "$(field estimator) $(field bags) $(field rounds)" = "$recommended" ] || fail "plan recommends $recommended"
finish
