#!/usr/bin/env bash
# A fit that must not be used: exit code 6, one sentence, no file; --force writes it anyway.
. "$(dirname "$0")/lib.sh"

# The first column determines the label: without a penalty the weights diverge.
awk 'BEGIN {srand(3); print "id,a,b,y"; for (i = 0; i < 400; i++) {a = rand() - 0.5; print i "," a "," rand() "," (a > 0)}}' >separable.csv
runaway=(priorboost train --data separable.csv --id id --label y --family logistic --min-bag 2
    --estimator aggregate --bags features --rounds 1 --l2 0 --out model.json --report page.html)

expect 6 "${runaway[@]}"
says "no model is written: the model can explain the answers without error"
says "set l2 > 0"
says "(--force writes it anyway)"
[ "$(wc -l <stderr)" -eq 1 ] || fail "more than one sentence"
[ ! -s stdout ] || fail "something was printed"
no_file model.json page.html

expect 6 "${runaway[@]}" --json
[ "$(field usable)" = false ] || fail "usable is $(field usable)"
[ "$(field out)" = null ] || fail "out is $(field out)"
field warnings.0 | grep -q "have no limit" || fail "no warning says why"
theta=$(field theta)
no_file model.json page.html

expect 0 "${runaway[@]}" --force --json
says "warning: the model can explain the answers without error"
[ "$(field usable) $(field out)" = "false model.json" ] || fail "usable $(field usable), out $(field out)"
[ "$(field theta)" = "$theta" ] || fail "another model"
expect 0 priorboost predict --model model.json --data separable.csv --out predictions.csv
rm model.json page.html

# A file that is there already stays as it was.
echo kept >model.json
expect 6 "${runaway[@]}"
grep -qx kept model.json || fail "model.json was touched"

# Bags that are given.
awk -F, -v OFS=, 'NR == 1 {print $0, "bag"; next} {print $0, int($1 / 2)}' separable.csv >bagged.csv
awk -F, -v OFS=, 'NR > 1 {n[$5]++; s[$5] += $4} END {print "bag,count,mean"; for (b in n) print b, n[b], s[b] / n[b]}' bagged.csv >answers.csv
expect 6 priorboost train --data bagged.csv --bag bag --answers answers.csv --label y --exclude id,b --family logistic --l2 0 --out given.json
no_file given.json

# A penalty makes it usable; so is a constant model where noise masks the mean, with a warning.
expect 0 priorboost train --data separable.csv --id id --label y --family logistic --min-bag 2 --estimator aggregate \
    --bags features --rounds 1 --json
[ "$(field usable)" = true ] || fail "usable is $(field usable)"
expect 0 priorboost train --data separable.csv --id id --label y --family logistic --min-bag 2 --rounds 1 --epsilon 0.01 \
    --bounds 0,1 --seed 2 --out constant.json --json
says "even the mean"
[ "$(field usable)" = true ] || fail "usable is $(field usable)"

# What needs an oracle says so.
for option in --resume --no-checkpoint; do
    expect 2 "${runaway[@]}" $option
    says "$option needs --oracle"
done
expect 0 priorboost train --help
printed "6 a fit that must not be used"
finish
