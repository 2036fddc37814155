#!/usr/bin/env bash
# --model smooth: curves in train, predict, report; tables that have none.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# y = sin(2 a) + b / 2 and a little; few has three values, one is constant, one cell is missing.
python3 - <<'PY'
import math, random
r = random.Random(5)
with open("data.csv", "w") as f:
    print("a,b,few,one,city,y", file=f)
    for i in range(3000):
        a, b = r.uniform(-1.5, 1.5), r.gauss(0, 1)
        y = math.sin(2 * a) + b / 2 + r.gauss(0, 0.3)
        print("" if i == 7 else a, b, i % 3, 1, "xy"[i % 2], min(max(y, -3), 3), sep=",", file=f)
PY
train=(priorboost train --data data.csv --label y --family linear --min-bag 15 --impute mean)

expect 0 "${train[@]}" --test data.csv --json
straight=$(field test_loss)
expect 0 "${train[@]}" --test data.csv --model smooth --json --out model.json --report page.html
within 0.08 0.11 "$(field test_loss)" # the noise has 0.09
within 0.11 1 "$straight"
[ "$(field curves.0.column) $(field curves.0.curved)" = "a true" ] || fail 'a is not curved'
[ "$(field curves.1.column) $(field curves.1.curved)" = "b false" ] || fail 'b is curved'
expect 1 priorboost train --data data.csv --label y --family linear --min-bag 15 --impute mean \
    --model smooth --report missing/page.html
grep -q 'id="curves-1"' page.html || fail 'no curves on the page'
grep -q 'class="band"' page.html || fail 'no bands on the page'
grep -q 's(a).1' page.html && fail 'functions of curves are on the page'
grep -q '"version": 2' model.json || fail 'not version 2'

expect 0 "${train[@]}" --model smooth
printed 'eff. degrees of freedom'
printed 'clearly curved'
grep -q 's(a).1' stdout && fail 'weights of functions are printed'

# The file gives the predictions of the training, to the last bit, with intervals.
expect 0 priorboost evaluate --model model.json --data data.csv --label y --json
within 0.08 0.11 "$(field loss)"
expect 0 priorboost predict --model model.json --data data.csv --interval
[ "$(wc -l <stdout)" = 3001 ] || fail 'a line for each row'
expect 0 priorboost report model.json --out again.html
cmp <(sed -n '/id="curves-1"/,/figcaption/p' again.html | grep -c band) \
    <(sed -n '/id="curves-1"/,/figcaption/p' page.html | grep -c band) || fail 'other curves'

# Standardised columns have the same curves.
expect 0 "${train[@]}" --test data.csv --model smooth --json
loss=$(field test_loss)
expect 0 "${train[@]}" --test data.csv --model smooth --json --standardize
within "$(python3 -c "print($loss - 1e-6)")" "$(python3 -c "print($loss + 1e-6)")" "$(field test_loss)"

# The bags are those of glm: the answers do not depend on the model.
expect 0 "${train[@]}" --json --seed 3
bags=$(field history.0.bags) smallest=$(field history.0.smallest_bag)
expect 0 "${train[@]}" --json --seed 3 --model smooth
[ "$bags $smallest" = "$(field history.0.bags) $(field history.0.smallest_bag)" ] || fail 'other bags'

# Under strong noise, straight lines.
noise=(--epsilon 0.05 --bounds=-3,3 --seed 1 --force)
expect 0 "${train[@]}" --test data.csv --json "${noise[@]}"
straight=$(field test_loss)
expect 0 "${train[@]}" --test data.csv --model smooth --json "${noise[@]}"
within "$(python3 -c "print($straight - 0.05)")" "$(python3 -c "print($straight + 0.05)")" \
    "$(field test_loss)"

# ---- dates bend too: by their days, beside the indicators of their other parts ----
python3 - <<'PY'
import datetime, math, random
r = random.Random(3)
with open("dates.csv", "w") as f:
    print("when,x,y", file=f)
    for i in range(3000):
        day = r.randrange(3650)
        date = datetime.date(2015, 1, 1) + datetime.timedelta(days=day)
        y = math.sin(day / 400) + 0.5 * (date.weekday() == 5) + 0.3 * (i % 11) + r.gauss(0, 0.3)
        print("" if i == 9 else date, i % 11, y, sep=",", file=f)
PY
dates=(priorboost train --data dates.csv --label y --family linear --min-bag 10 --impute mean)
for part in days days+weekday year; do
    expect 0 "${dates[@]}" --date "when=$part" --model smooth --json --out dates.json
    [ "$(field curves.0.column) $(field curves.0.curved)" = "when true" ] || fail "$part is not curved"
done
expect 0 "${dates[@]}" --date when=days+weekday --model smooth --json --test dates.csv --out dates.json --report d.html
within 0.08 0.11 "$(field test_loss)" # the noise has 0.09
loss=$(field test_loss)
expect 0 priorboost evaluate --model dates.json --data dates.csv --label y --json
within -1e-12 1e-12 "$(python3 -c "print($loss - $(field loss))")"
expect 0 "${dates[@]}" --date when=month --model smooth --json
[ "$(field curves.0.column)" = x ] || fail "a month has a curve"
sed 's/"days",//' dates.json >wrong.json
expect 3 priorboost predict --model wrong.json --data dates.csv
says 'an object in a feature that is a number, or a date by days or year'

# ---- what is refused, and tables without curves ----
expect 2 "${train[@]}" --model cubic
says "cubic"
expect 2 "${train[@]}" --model smooth --estimator event
expect 2 priorboost train --data data.csv --bag city --answers data.csv --family linear \
    --rows means --model smooth
says '--rows sample or means is for --model glm: a curve needs all rows of the bags'
expect 3 priorboost train --data data.csv --label y --family linear --min-bag 15 --model smooth
says "column 'a' is missing"
expect 0 "${train[@]}" --model smooth --drop a,b --out few.json
says 'no column of numbers has 8 different values or more'
grep -q '"version": 1' few.json || fail 'a model without curves is not version 1'
sed 's/"knots": \[/"knots": [1e9, /' model.json >wrong.json
expect 3 priorboost predict --model wrong.json --data data.csv
says "wrong.json: the curve of feature 'a' has 11 knots and 8 functions; it must have 3 to 10"
finish
