#!/usr/bin/env bash
# train --model trees: effects that bend, missing cells, given bags, an offset; what is refused.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

python3 - <<'PY'
import math, random
random.seed(1)
def cell(v): return "" if random.random() < 0.05 else v
for name, n in (("data.csv", 6000), ("test.csv", 2000)):
    with open(name, "w") as f:
        f.write("x,city,noise,when,y,count,log_n,bag\n")
        for i in range(n):
            x, city = random.uniform(-3, 3), random.choice("abcdefgh")
            eta = math.cos(2 * x) + (1 if city in "aceg" else -1) * (x > 0)
            size = random.choice([1, 2, 4])
            rate = size * math.exp(eta / 2)
            count = next(k for k in range(99) if random.random() > rate / (rate + 1 + k))
            day = f"2024-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
            f.write(f"{cell(f'{x:.6f}')},{cell(city)},{random.gauss(0, 1):.6f},{day},"
                    f"{eta + random.gauss(0, 0.2):.6f},{count},{math.log(size)!r},b{i % 600}\n")
PY
common=(--data data.csv --test test.csv --family linear --label y --min-bag 8 --date when=month
        --drop count,log_n,bag)

# ---- trees see what a straight line cannot ----
expect 0 priorboost train "${common[@]}" --impute mean --json
line=$(field test_loss)
says 'note: bags left out show effects that are not straight lines; --model auto would explain about'
expect 0 priorboost train "${common[@]}" --model trees --out trees.json --report trees.html --json
tree=$(field test_loss)
within 0 0.5 "$(python3 -c "print($tree / $line)")"
[ "$(field model)" = trees ] || fail 'the field model'
[ "$(field members.0.kind)" = trees ] || fail 'the kind of the member'
[ "$(field members.0.weight)" = 1.0 ] || fail 'the weight of the member'
within 1 100000 "$(field trees)"
[ "$(field effects.0.column)" = x ] || fail 'x has the largest effect'
[ "$(field effects.1.column)" = city ] || fail 'city has the second largest effect'
[ "$(field effects.1.at.0)" = a ] || fail 'the points of a category'
within 5 1000 "$(field bag_groups.0.bags)"
[ "$(field theta)" = '[]' ] || fail 'trees have weights'
expect 0 priorboost evaluate --model trees.json --data test.csv --json
within 0.999999 1.000001 "$(python3 -c "print($(field loss) / $tree)")"
grep -q 'id="answered"' trees.html || fail 'no chart of predicted against answered'
grep -q 'id="effects"' trees.html || fail 'no chart of effects'
expect 3 priorboost predict --model trees.json --data test.csv --interval
says 'have no intervals'
expect 0 priorboost report trees.json --out again.html
cmp -s trees.html again.html || fail 'report shows another page'

# ---- auto: the mean of several models; what each explains, and its weight ----
expect 0 priorboost train "${common[@]}" --model auto --out auto.json --report auto.html --json
within 0 0.5 "$(python3 -c "print($(field test_loss) / $line)")"
within 0.999999 1.000001 "$(python3 -c "
import json; print(sum(m['weight'] for m in json.load(open('stdout'))['members']))")"
loss=$(field test_loss)
expect 0 priorboost evaluate --model auto.json --data test.csv --json
within 0.999999 1.000001 "$(python3 -c "print($(field loss) / $loss)")"
expect 0 priorboost export auto.json auto.onnx
expect 3 priorboost predict --model auto.json --data test.csv --interval
says 'have no intervals'

# ---- the same run gives the same file, on any number of threads; text for people ----
expect 0 priorboost train "${common[@]}" --model trees --threads 1 --out one.json
printed 'model trees'
printed 'have no weights and no intervals'
cmp -s trees.json one.json || fail 'the number of threads matters'

# ---- given bags; counts with an offset ----
python3 - <<'PY'
import csv
bags = {}
for row in csv.DictReader(open("data.csv")):
    bags.setdefault(row["bag"], []).append(float(row["y"]))
with open("answers.csv", "w") as f:
    f.write("bag,count,mean\n")
    f.writelines(f"{bag},{len(y)},{sum(y) / len(y)!r}\n" for bag, y in bags.items())
PY
expect 0 priorboost train --data data.csv --bag bag --answers answers.csv --label y --family linear \
    --drop count,log_n,when --model trees --json
[ "$(field bags)" = given ] || fail 'given bags'
expect 0 priorboost train --data data.csv --label count --family poisson --min-bag 8 --offset log_n \
    --drop y,bag,when --model trees --out counts.json
expect 0 priorboost evaluate --model counts.json --data test.csv --json
within 0.9 1.1 "$(field calibration.ratio)"
within 0.05 1 "$(field d2)"

# ---- noise; every report shows predicted against answered ----
expect 0 priorboost train "${common[@]}" --model trees --epsilon 1 --bounds -3,3 --clamp --seed 1 --json
within 0 1 "$(field test_loss)"
expect 0 priorboost train "${common[@]}" --impute mean --out glm.json --report glm.html
grep -q 'id="answered"' glm.html || fail 'no chart of predicted against answered for a GLM'
expect 0 priorboost report glm.json trees.json --out both.html
grep -q 'id="weights"\|id="coefficients"' both.html || fail 'no weights of the GLM'

# ---- what is refused, before anything is asked ----
refuses() { expect 2 priorboost train "${common[@]}" --out none.json "$@"; no_file none.json; }
refuses --model forest
says "--model is 'forest'; it must be glm, smooth, trees or auto"
refuses --model trees --estimator event
says '--estimator is for --model glm, not for trees'
refuses --model trees --algorithm oneshot
says '--algorithm is for --model glm'
refuses --model trees --l2 3
says '--l2 is for --model glm'
refuses --model trees --no-intercept
says '--no-intercept is for --model glm'
refuses --model trees --covariance sandwich
says '--covariance is for --model glm'

# ---- nothing to learn: a column of one value, few bags ----
python3 - <<'PY'
import random
random.seed(3)
with open("nothing.csv", "w") as f:
    f.write("one,b,c,y\n")
    f.writelines(f"1,{random.gauss(0, 1):.4f},{random.gauss(0, 1):.4f},{random.gauss(0, 1):.4f}\n"
                 for i in range(100))
PY
expect 0 priorboost train --data nothing.csv --label y --family linear --min-bag 10 --model auto
says 'a constant predicts bags that were left out better than this model does'
expect 0 priorboost train --data nothing.csv --label y --family linear --min-bag 10
says "column 'one' adds nothing to the columns before it and gets weight 0"
expect 0 priorboost describe nothing.csv
printed '1 feature; one value: its weight is 0'
finish
