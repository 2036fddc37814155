#!/usr/bin/env bash
# Labels that are one of several classes: train, predict, evaluate, report, given bags, bad input.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

python3 - <<'PY'
import math, random
random.seed(1)
NAMES = ["blue", "green", "red"]
def table(path, n, first):
    with open(path, "w") as f:
        f.write("id,age,region,party,number\n")
        for i in range(first, first + n):
            age, west = random.gauss(0, 1), random.random() < 0.4
            eta = [0.0, 0.8 * age + 0.3, -0.5 * age + 0.6 * west]
            p = [math.exp(e) for e in eta]
            c = random.choices(range(3), p)[0]
            f.write(f"r{i},{age:.3f},{'west' if west else 'east'},{NAMES[c]},{10 * c}\n")
table("data.csv", 6000, 0)
table("test.csv", 2000, 6000)
PY
train() { priorboost train --data data.csv --id id --min-bag 10 --out model.json --drop number "$@"; }

# Text with more than two values needs no --family.
expect 0 train --label party --test test.csv --report run.html --json
says "label 'party' is text with 3 values: --family classes"
[ "$(field family)" = classes ] || fail "the family is $(field family)"
[ "$(field classes)" = '["blue", "green", "red"]' ] || fail "the classes are $(field classes)"
[ "$(field bags)" = features ] || fail "bags are $(field bags)"
python3 - <<'PY' || fail "the truth is outside the intervals"
import json
out = json.load(open("stdout"))
truth = [None, [0.8, 0.0, 0.3], [-0.5, 0.6, 0.0]]
for c in (1, 2):
    got = out["theta"][c] + [out["intercept"][c]]
    for t, g, s in zip(truth[c], got, out["standard_errors"][c]):
        assert 0 < s < 0.15 and abs(t - g) < 4 * s, (c, t, g, s)
assert out["theta"][0] == [0.0, 0.0] and out["standard_errors"][0] == [None] * 3
assert out["history"][0]["test_loss"] == out["test_loss"]
PY
loss=$(field test_loss)
grep -q 'log odds against class blue' run.html || fail "the page has no weights"
expect 0 train --label party
printed 'green against blue'
printed 'red against blue'
expect 0 priorboost report model.json --out compare.html --json
[ "$(field runs.0.family)" = classes ] || fail "the report says $(field runs.0.family)"

# Predictions: the most likely class and a column for each.
expect 0 priorboost predict --model model.json --data test.csv --id id
[ "$(head -n 1 stdout)" = id,prediction,p_blue,p_green,p_red ] || fail "$(head -n 1 stdout)"
python3 - <<'PY' || fail "predictions are no probabilities"
import csv
names = ["blue", "green", "red"]
for r in csv.DictReader(open("stdout")):
    p = [float(r["p_" + c]) for c in names]
    assert abs(sum(p) - 1) < 1e-12 and r["prediction"] == names[p.index(max(p))]
PY
expect 0 priorboost predict --model model.json --data test.csv --interval 0.9 --json
python3 - <<'PY' || fail "intervals do not hold the probabilities"
import json
out = json.load(open("stdout"))
assert len(out["probability"]) == len(out["prediction"]) == 2000 and out["classes"][0] == "blue"
for low, p, high in zip(out["lower"], out["probability"], out["upper"]):
    assert all(0 < a < b < c < 1 for a, b, c in zip(low, p, high))
PY
expect 0 priorboost evaluate --model model.json --data test.csv --report page.html
printed 'rows by label (down) and most likely class (across)'
grep -q 'What classes are taken for' page.html || fail "the page has no confusion"
expect 0 priorboost evaluate --model model.json --data test.csv --json
within 0.999999 1.000001 "$(python3 -c 'import sys; print(float(sys.argv[1])/float(sys.argv[2]))' "$(field loss)" "$loss")"
[ "$(python3 -c 'import json; print(sum(map(sum, json.load(open("stdout"))["confusion"])))')" = 2000 ] ||
    fail "the confusion matrix does not have every row"
within 0.9 1.1 "$(field calibration.1.ratio)"

# Numbers are classes if --family says so, in the order of the numbers.
expect 0 priorboost train --data data.csv --id id --min-bag 10 --label number --family classes --drop party --json
[ "$(field classes)" = '["0", "10", "20"]' ] || fail "the classes are $(field classes)"

# Other ways to ask; noise needs no bounds.
for how in "--bags hybrid --rounds 3" "--bags prior --rounds 3" "--bags random" "--method paper --rounds 4" \
    "--estimator event" "--standardize" "--epsilon 2 --seed 3" "--covariance sandwich" "--no-intercept" "--l2 3"; do
    # shellcheck disable=SC2086 # options are words
    expect 0 train --label party --test test.csv --json $how
    within 0.7 1.09 "$(field test_loss)"
done
expect 0 train --label party --epsilon 2 --json
within 11 6000 "$(field bag_size)" # larger than the least under noise
expect 0 train --label party --threads 1
cp model.json one.json
expect 0 train --label party --threads 2
cmp -s model.json one.json || fail "threads change the model"

expect 0 train --label party --l2 cv --json
within 1e-3 1000 "$(field l2)"
cv=$(field l2)
expect 0 train --label party --l2 cv --json
[ "$(field l2)" = "$cv" ] || fail "folds differ between two runs"

# Trees: what is learnt, the file, predictions.
expect 0 train --label party --test test.csv --model trees --report trees.html --json
[ "$(field model) $(field members.2.kind)" = 'trees trees' ] || fail "the model is $(field model)"
within 0.7 1.09 "$(field test_loss)"
loss=$(field test_loss)
expect 0 train --label party --model trees
printed 'class against all others'
expect 0 priorboost evaluate --model model.json --data test.csv --json
within 0.999999 1.000001 "$(python3 -c 'import sys; print(float(sys.argv[1])/float(sys.argv[2]))' "$(field loss)" "$loss")"
expect 3 priorboost predict --model model.json --data test.csv --interval
says 'have no intervals'
expect 0 priorboost report model.json --out compare.html
expect 0 priorboost export model.json model.onnx --json
[ "$(field family)" = classes ] && [ -s model.onnx ] || fail "the model is not exported"

# Curves, and the weighted mean of all models.
expect 0 train --label party --test test.csv --model smooth --json
[ "$(field model) $(field columns.2)" = 'smooth s(age).1' ] || fail "the columns are $(field columns)"
within 0.7 1.09 "$(field test_loss)"
loss=$(field test_loss)
expect 0 priorboost evaluate --model model.json --data test.csv --json
within 0.999999 1.000001 "$(python3 -c 'import sys; print(float(sys.argv[1])/float(sys.argv[2]))' "$(field loss)" "$loss")"
expect 0 priorboost predict --model model.json --data test.csv --interval
expect 0 train --label party --test test.csv --model auto --report auto.html --json
[ "$(field model)" = auto ] || fail "the model is $(field model)"
within 0.7 1.09 "$(field test_loss)"
loss=$(field test_loss)
cp model.json auto.json
expect 0 train --label party --test test.csv --model auto --threads 2
printed 'explains of bags left out of its fit'
cmp -s model.json auto.json || fail "threads change the mixture"
expect 0 priorboost evaluate --model model.json --data test.csv --json
within 0.999999 1.000001 "$(python3 -c 'import sys; print(float(sys.argv[1])/float(sys.argv[2]))' "$(field loss)" "$loss")"
expect 3 priorboost predict --model model.json --data test.csv --interval
says 'have no intervals'
expect 0 priorboost report model.json --out compare.html
expect 0 priorboost export model.json model.onnx
python3 - <<'PY'
import json
model = json.load(open("model.json"))
del model["members"][-1]
json.dump(model, open("broken.json", "w"))
PY
expect 3 priorboost predict --model broken.json --data test.csv
says 'broken.json: '

# Given bags: counts or proportions of each class.
python3 - <<'PY'
import csv, random
rows = sorted(csv.DictReader(open("data.csv")), key=lambda r: (r["region"], float(r["age"])))
names = ["red", "blue", "green"]
with open("rows.csv", "w") as f, open("counts.csv", "w") as c, open("parts.csv", "w") as p, open("means.csv", "w") as m:
    f.write("district,age,region\n"), c.write("district,count,red,blue,green\n")
    p.write("who;district;red;blue;green\n"), m.write("district,voters,age,west,red,blue,green\n")
    for b in range(300):
        part = rows[20 * b:20 * b + 20]
        n = [sum(r["party"] == c for r in part) for c in names]
        for r in part:
            f.write(f"d{b},{r['age']},{r['region']}\n")
        c.write(f"d{b},20,{n[0]},{n[1]},{n[2]}\n")
        p.write(f"20;d{b};{n[0] / 20};{n[1] / 20};{n[2] / 20}\n")
        west = sum(r["region"] == "west" for r in part) / 20
        m.write(f"d{b},20,{sum(float(r['age']) for r in part) / 20},{west},{n[0]},{n[1]},{n[2]}\n")
PY
given() { priorboost train --family classes --data rows.csv --bag district --out model.json "$@"; }
expect 0 given --answers counts.csv --json
[ "$(field classes)" = '["red", "blue", "green"]' ] || fail "the classes are $(field classes)"
within 0.9 1.7 "$(field theta.2.0)" # 0.8 + 0.5
counts=$(field theta)
expect 0 given --answers counts.csv --model trees --json
[ "$(field members.0.kind)" = trees ] || fail "given bags have no trees"
expect 0 given --answers counts.csv --model auto --json
[ "$(field model)" = auto ] || fail "given bags have no mixture"
expect 0 given --answers counts.csv --model smooth --json
[ "$(field model)" = smooth ] || fail "given bags have no curves"
expect 0 given --answers parts.csv --answer-columns count=who --json
[ "$(field theta)" = "$counts" ] || fail "counts and proportions differ"
expect 0 given --answers counts.csv --class-columns blue,red,green --json
[ "$(field classes)" = '["blue", "red", "green"]' ] || fail "--class-columns is not the order"
expect 0 priorboost train --family classes --data means.csv --answers means.csv --bag district --rows means \
    --answer-columns count=voters --class-columns red,blue,green --json
[ "$(field covariance)" = sandwich ] || fail "districts have the covariance $(field covariance)"
[ "$(field columns)" = '["age", "west"]' ] || fail "the columns are $(field columns)"
rm -f model.json

refuse() { # refuse CODE MESSAGE COMMAND...
    expect "$1" "${@:3}"
    says "$2"
    no_file model.json
}
refuse 2 "--family is required: label 'number' has numbers" train --label number
refuse 2 "--bounds cannot be used with --family classes" train --label party --bounds 0,1
refuse 2 '--offset cannot be used with --family classes' train --label party --offset age
refuse 2 '--model smooth is for --estimator aggregate' train --label party --model smooth --estimator event
refuse 2 '--l2 is for --model glm, not for auto' train --label party --model auto --l2 1
refuse 2 '--estimator cannot be used with --family classes' train --label party --estimator cv
refuse 2 '--l2 cv cannot be used' train --label party --l2 cv --estimator event
refuse 2 '--round cannot be used' train --label party --round
refuse 2 '--prior cannot be used' train --label party --prior one.json
refuse 2 '--sums cannot be used' priorboost train --data rows.csv --family classes --sums counts.csv --out model.json
refuse 2 '--class-columns needs' train --label party --class-columns a,b
refuse 2 'linear, logistic, poisson, classes' train --label party --family softmax
refuse 3 "label 'region' has 2 values" train --label region --family classes
refuse 3 "label 'age' has" train --label age --family classes
refuse 3 'or train with --family classes' train --label party --family logistic
sed '5s/,green,\|,blue,\|,red,/,,/' data.csv >missing.csv
refuse 3 "missing.csv:5: label 'party' is missing" priorboost train --data missing.csv --label party --family classes \
    --min-bag 10 --out model.json
sed '3s/,green,\|,blue,\|,red,/,pink,/' test.csv >pink.csv
refuse 3 "pink.csv:3: label 'party' is 'pink', which is no class; these are 'blue', 'green', 'red'" \
    train --label party --test pink.csv
refuse 2 '--bag-effects yes cannot be used' given --answers counts.csv --bag-effects yes
sed '3s/,20,/,20,9/' counts.csv >wrong.csv
refuse 3 "wrong.csv:3: the classes of bag 'd1' have sum" given --answers wrong.csv
sed '4s/,20,/,20,-/' counts.csv >minus.csv
refuse 3 "minus.csv:4: bag 'd2' has -" given --answers minus.csv
refuse 3 'has 2 columns of classes; there must be 3' given --answers counts.csv --class-columns red,blue
refuse 2 "--class-columns has 'red' twice" given --answers counts.csv --class-columns red,blue,red
refuse 2 '--class-columns is required' given --answers rows.csv
refuse 3 'pink' given --answers counts.csv --class-columns red,blue,pink
refuse 3 'pink.csv:3' priorboost evaluate --model one.json --data pink.csv
refuse 2 '--positive cannot be used' priorboost evaluate --model one.json --data test.csv --positive red
refuse 3 'is a model of classes; a prior must predict numbers' priorboost train --data data.csv --label number \
    --family poisson --min-bag 10 --drop party --prior one.json --bags prior
finish
