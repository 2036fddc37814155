#!/usr/bin/env bash
# Bags and answers that someone else made: districts, clinics, exports.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

priorboost generate --family linear --rows 3000 --features 3 --seed 4 --out table.csv --truth truth.json
python3 - <<'PY'
import csv
rows = sorted(csv.DictReader(open("table.csv")), key=lambda r: (float(r["x1"]) > 0, float(r["x2"]) > 0, float(r["x3"])))
with open("rows.csv", "w") as f, open("mean.csv", "w") as m, open("sum.csv", "w") as s:
    f.write("x1,district,x2,x3\n"), m.write("mean,district,count\n"), s.write("district;count;sum\n")
    sizes = [1, 2, 7] + [10] * 299
    at, lines = 0, []
    for b, size in enumerate(sizes):
        part, at = rows[at:at + size], at + size
        for r in part:
            f.write(f'{r["x1"]},{1000 + b},{r["x2"]},{r["x3"]}\n')
        total = sum(float(r["y"]) for r in part)
        lines.append((f"{total / size!r},{1000 + b},{size}\n", f"{1000 + b};{size};{total!r}\n"))
    for a, b in reversed(lines):
        m.write(a), s.write(b)
PY
given() { priorboost train --family linear --data rows.csv --bag district --out model.json "$@"; }

expect 0 given --answers mean.csv --json
cp stdout mean.json
says '1 bag has one row'
[ "$(field bags)" = given ] || fail "bags are $(field bags)"
[ "$(field estimator)" = aggregate ] || fail "the estimator is $(field estimator)"
[ "$(field rows_spent)" = 3000 ] || fail "rows_spent is $(field rows_spent)"
python3 - <<'PY' || fail "the truth is far outside the intervals"
import json
out, truth = json.load(open("stdout")), json.load(open("truth.json"))
for t, e, s in zip(truth["theta"], out["theta"], out["standard_errors"]):
    assert 0 < s < 0.02 and abs(t - e) < 4 * s, (t, e, s)
PY
expect 0 priorboost predict --model model.json --data table.csv --interval 0.9 --out predictions.csv
expect 0 given --answers sum.csv --json
python3 -c 'import json; a, b = json.load(open("mean.json")), json.load(open("stdout"))
assert all(abs(u - v) < 1e-9 for u, v in zip(a["theta"], b["theta"]))' || fail "mean and sum differ"
expect 0 given --answers mean.csv --estimator event --test table.csv --label y
printed 'test loss'
sed '1s/$/,noise_variance/; 2,$s/$/,0.5/' mean.csv >noisy.csv
expect 0 given --answers noisy.csv --json
python3 -c 'import json; a, b = json.load(open("mean.json")), json.load(open("stdout"))
assert all(v > 3 * u for u, v in zip(a["standard_errors"], b["standard_errors"]))' ||
    fail "noise does not widen the intervals"
rm model.json

refuse() { # refuse CODE MESSAGE OPTION...
    expect "$1" given "${@:3}"
    says "$2"
    no_file model.json
}
grep -v ',1005,' mean.csv >less.csv
refuse 3 "bag '1005' has no answer in less.csv" --answers less.csv
{ cat mean.csv; echo '3,elsewhere,12'; } >more.csv
refuse 3 "more.csv:304: bag 'elsewhere' has no rows in rows.csv" --answers more.csv
{ cat mean.csv; echo '0,nobody,0'; } >empty.csv
refuse 3 "bag 'nobody' is empty" --answers empty.csv
sed 's/,1005,10/,1005,0/' mean.csv >zero.csv
refuse 3 "bag '1005' is empty" --answers zero.csv
sed 's/,1005,10/,1005,11/' mean.csv >count.csv
refuse 3 "bag '1005' has count 11, but 10 rows name it" --answers count.csv
{ cat mean.csv; echo '3,1005,10'; } >twice.csv
refuse 3 "bag '1005' has an answer on line" --answers twice.csv
cut -d, -f2,3 mean.csv >bare.csv
refuse 3 "neither a column 'mean' nor a column 'sum'" --answers bare.csv
cut -d, -f1,2 mean.csv >nocount.csv
refuse 3 "'count'" --answers nocount.csv
refuse 3 "'district'" --answers table.csv
sed '1s/$/,noise_variance/; 2,$s/$/,-1/' mean.csv >negative.csv
refuse 3 'noise_variance -1' --answers negative.csv
sed '1s/$/,sum/; 2,$s/$/,1e6/' mean.csv >both.csv
refuse 3 'but mean' --answers both.csv
expect 3 priorboost train --family logistic --data rows.csv --bag district --answers mean.csv
says 'which no logistic labels have'
sed '5s/,[0-9]*,/,,/' rows.csv >hole.csv
expect 3 priorboost train --family linear --data hole.csv --bag district --answers mean.csv
says "hole.csv:5: bag 'district' is missing"
refuse 2 '--min-bag cannot be used with --bag' --answers mean.csv --min-bag 3
refuse 2 '--epsilon cannot be used with --bag' --answers mean.csv --epsilon 1 --bounds 0,1
refuse 2 '--answers is required' --no-intercept
expect 2 priorboost train --family linear --data rows.csv --label y --min-bag 3 --answers mean.csv
says '--bag is required'
finish
