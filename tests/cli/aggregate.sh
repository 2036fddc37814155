#!/usr/bin/env bash
# The aggregate estimator and its comparisons, as a person would use them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

priorboost generate --family logistic --rows 20000 --features 4 --seed 3 --out data.csv \
    --test-rows 4000 --test-out test.csv --truth truth.json
train() { priorboost train --data data.csv --label y --family logistic --min-bag 32 "$@"; }

# ---- it is better than the paper's estimator on the same bags, and says how sure it is ----
expect 0 train --estimator event --bags random --rounds 1 --test test.csv --json
event=$(field test_loss)
expect 0 train --estimator aggregate --bags features --rounds 1 --test test.csv --out model.json --json
within 0 "$event" "$(field test_loss)"
[ "$(field estimator)" = aggregate ] || fail "estimator is $(field estimator)"
[ "$(field converged)" = true ] || fail "not converged"
within 0.9 1.1 "$(field dispersion)"
within 4.9 5 "$(field effective_freedom)"
within 0.9 1.1 "$(field l2)"
[ "$(field l2_standardized)" = true ] || fail "l2 is not on standardised features"
[ "$(field warnings)" = "[]" ] || fail "warnings: $(field warnings)"
within 0.7 1.3 "$(field history.0.bag_deviance)"
python3 - <<'PY' || fail "the truth is far outside the intervals"
import json
out, truth = json.load(open("stdout")), json.load(open("truth.json"))
for t, e, s in zip(truth["theta"], out["theta"], out["standard_errors"]):
    assert 0 < s < 0.1 and abs(t - e) < 4 * s, (t, e, s)
model = json.load(open("model.json"))
assert len(model["covariance"]) == 5
for j, s in enumerate(out["standard_errors"]):
    assert abs(model["covariance"][j][j] ** 0.5 / s - 1) < 1e-12
PY
expect 0 train --estimator aggregate --bags features --rounds 1
printed 'std. error'
printed '95 % interval'
printed 'bag deviance'

# ---- rounds pool; each is predicted by those before it ----
expect 0 train --estimator aggregate --rounds 4 --json
[ "$(field history.0.bag_deviance_ahead)" = null ] || fail "round 1 was predicted by nothing"
within 0.5 2 "$(field history.3.bag_deviance_ahead)"

# ---- standardizing, units and threads change nothing but rounding ----
cp stdout plain.json
expect 0 train --estimator aggregate --rounds 4 --json --standardize --threads 3
python3 - <<'PY' || fail "--standardize changes the aggregate fit"
import json
a, b = json.load(open("plain.json")), json.load(open("stdout"))
for key in "theta", "standard_errors":
    for u, v in zip(a[key] + [a["intercept_standard_error"]], b[key] + [b["intercept_standard_error"]]):
        assert abs(u - v) < 1e-5, (key, u, v)
PY

# ---- noise, cross-validation, sandwich, winsorizing ----
expect 0 train --estimator aggregate --bags features --rounds 1 --epsilon 1 --bounds 0,1 --seed 5 --json
cp stdout noisy.json
expect 0 train --estimator aggregate --bags features --rounds 1 --l2 cv --covariance sandwich \
    --winsorize 3 --out cv.json --json
[ "$(field covariance)" = sandwich ] || fail "covariance is $(field covariance)"
python3 -c 'import json; f=json.load(open("cv.json"))["features"][0]; assert -4 < f["lower"] < -2 < 2 < f["upper"] < 4' ||
    fail "the model does not hold the winsorizing"
head -n 1 test.csv >far.csv
echo '1e9,0,0,0,1' >>far.csv
tail -n 1 cv.json >/dev/null
expect 0 priorboost predict --model cv.json --data far.csv --json
within 0.001 0.999 "$(field prediction.0)"

# ---- predict --interval ----
expect 0 priorboost predict --model model.json --data test.csv --interval --out wide.csv
expect 0 priorboost predict --model model.json --data test.csv --interval 0.5 --out narrow.csv
python3 - <<'PY' || fail "intervals are not nested"
import csv
for w, n in zip(csv.DictReader(open("wide.csv")), csv.DictReader(open("narrow.csv"))):
    assert float(w["lower"]) < float(n["lower"]) < float(n["prediction"]) < float(n["upper"]) < float(w["upper"])
PY
expect 0 train --estimator event --out event.json
expect 3 priorboost predict --model event.json --data test.csv --interval
says 'no covariance'
expect 2 priorboost predict --model model.json --data test.csv --interval 1.5
says 'between 0 and 1'

# ---- the comparisons ----
expect 0 train --estimator interpolated --rho 1 --rounds 1 --bags random --l2 1 --json
cp stdout one.json
expect 0 train --estimator event --rounds 1 --bags random --l2 1 --json
python3 -c 'import json; a, b = json.load(open("one.json")), json.load(open("stdout"))
assert all(abs(u - v) < 1e-6 for u, v in zip(a["theta"], b["theta"])); assert a["rho"] == 1' ||
    fail "interpolated with rho 1 is not event"
expect 0 train --estimator interpolated --rho 0 --rounds 1 --bags features --test test.csv --json
within 0 "$event" "$(field test_loss)"

# ---- a fit that diverges warns ----
priorboost generate --family poisson --rows 4000 --features 2 --seed 1 --out counts.csv
expect 0 priorboost train --data counts.csv --label y --family poisson --min-bag 16 --algorithm oneshot \
    --estimator aggregate --epsilon 1 --bounds 0,20 --clamp --seed 1
says 'intervals are too short'
priorboost generate --family logistic --round-labels --rows 4000 --features 2 --seed 1 --out sharp.csv
expect 0 priorboost train --data sharp.csv --label y --family logistic --min-bag 4 --bags features --rounds 1 \
    --estimator aggregate
says 'almost separate'
priorboost generate --family poisson --rows 4000 --features 8 --seed 1 --out counts.csv
noisy=(priorboost train --data counts.csv --label y --family poisson --min-bag 4 --epsilon 0.5 --bounds 0,20 --clamp
    --estimator event --rounds 4 --seed 2)
expect 6 "${noisy[@]}"
says 'worse than a constant model'
expect 0 "${noisy[@]}" --force
says 'the fit diverged'

# ---- refusals ----
refuse() {
    expect 2 train --out no.json "${@:2}"
    says "$1"
    no_file no.json
}
refuse 'cannot be used with' --estimator aggregate --round
refuse 'cannot be used with' --estimator interpolated --round
refuse '--rho is for' --estimator aggregate --rho 0.5
refuse '--rho is 2' --estimator interpolated --rho 2
refuse '--l2 cv is for' --estimator event --l2 cv
refuse '--covariance is for' --estimator event --covariance sandwich
refuse "it must be model or sandwich" --estimator aggregate --covariance x
refuse '--winsorize is' --winsorize 0
# ---- levels of a category share a ridge, columns of 0 and 1 do not ----
awk -F, 'BEGIN { srand(4); print "age,city,y" > "city.csv"; print "age,b,c,d,y" > "indicators.csv" }
    NR > 1 && NR <= 3000 {
        u = rand(); c = u < 0.6 ? "a" : u < 0.9 ? "b" : u < 0.98 ? "c" : "d"
        y = $1 + (c == "b") - 2 * (c == "d") + rand()
        print $1, c, y > "city.csv"; print $1, c == "b", c == "c", c == "d", y > "indicators.csv"
    }' OFS=, data.csv
weights() { # of a training with these options on both tables
    for table in city indicators; do
        expect 0 priorboost train --data $table.csv --label y --family linear --min-bag 10 --json "$@"
        field theta >$table
    done
}
largest_difference() {
    python3 -c 'import json; a, b = json.load(open("city")), json.load(open("indicators"))
print(max(abs(x - y) for x, y in zip(a, b, strict=True)))'
}
weights
within 1e-4 1 "$(largest_difference)"
weights --l2 3
within 0 1e-9 "$(largest_difference)"
weights --standardize
within 0 1e-9 "$(largest_difference)"
# ---- the estimator by cross-validation over bags ----
expect 0 train --estimator cv --bags features --rounds 1 --test test.csv --out cv.json --json
[ "$(field estimator)" = aggregate ] || fail "cv chose $(field estimator)"
within 0 "$event" "$(field test_loss)"
expect 0 priorboost predict --model cv.json --data test.csv --interval --out /dev/null
expect 2 train --estimator cv --l2 cv
says "--l2 cv is for --estimator aggregate"
expect 2 train --estimator cv --round --bounds 0,1
says "cannot be used with"
finish
