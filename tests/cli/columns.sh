#!/usr/bin/env bash
# Several label columns: one set of bags, a model for each; train, predict, evaluate, a service.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

python3 - <<'PY'
import math, random
random.seed(1)
def poisson(mean):
    k, p, u = 0, math.exp(-mean), random.random()
    c = p
    while u > c and k < 20:
        k += 1
        p *= mean / k
        c += p
    return k
def table(path, n, first):
    with open(path, "w") as f:
        f.write("id,person,age,region,sick,visits,cost\n")
        for i in range(first, first + n):
            age, west = random.gauss(0, 1), random.random() < 0.4
            sick = random.random() < 1 / (1 + math.exp(-(0.8 * age - 0.3 + 0.5 * west)))
            visits, cost = poisson(math.exp(0.3 * age - 0.2 * west)), 2 * age + random.gauss(0, 1)
            f.write(f"r{i},p{i // 2},{age:.3f},{'west' if west else 'east'},{'yes' if sick else 'no'},{visits},{cost:.3f}\n")
table("data.csv", 6000, 0)
table("test.csv", 2000, 6000)
PY
LABELS=(--labels sick,visits,cost --family logistic,poisson,linear)
train() { priorboost train --data data.csv --id id --drop person --min-bag 10 "$@"; }
files() { python3 - "$@" <<'PY'
import json, sys
def model(path): # the run record has a plan of one label only
    out = json.load(open(path))
    out["run"].pop("plan", None)
    return out
sys.exit(model(sys.argv[1]) != model(sys.argv[2]))
PY
}

# Each model is the one that its column alone gives.
expect 0 train "${LABELS[@]}" --test test.csv --out 'm-{label}.json' --report 'r-{label}.html'
for label in sick visits cost; do
    printed "label $label"
    printed "model written to m-$label.json"
done
for one in sick:logistic:visits,cost visits:poisson:sick,cost cost:linear:sick,visits; do
    IFS=: read -r label family others <<<"$one"
    [ -s "r-$label.html" ] || fail "there is no page of $label"
    expect 0 train --label "$label" --family "$family" --exclude "$others" --test test.csv --out one.json
    files one.json "m-$label.json" || fail "the model of $label is not that of $label alone"
done
expect 0 train "${LABELS[@]}" --test test.csv --model trees --json
[ "$(field labels.1.model)" = trees ] || fail "the model is $(field labels.1.model)"
within 0.5 0.65 "$(field labels.0.test_loss)"
expect 0 train "${LABELS[@]}" --model smooth --unit person --json
[ "$(field labels.2.rows_spent)" = 3000 ] || fail "units are not one row each"
expect 0 train --labels sick --family logistic --exclude visits,cost --out 'one-{label}.json'
files one-sick.json m-sick.json && fail "a column alone was tested" # that one has test losses

# Predictions and evaluations, a column for each label.
expect 0 priorboost predict --model m-sick.json --model m-cost.json --data test.csv --id id --interval
[ "$(head -n 1 stdout)" = id,prediction_sick,lower_sick,upper_sick,prediction_cost,lower_cost,upper_cost ] ||
    fail "$(head -n 1 stdout)"
cut -d, -f1,5- stdout | sed '1s/_cost//g' >both
expect 0 priorboost predict --model m-cost.json --data test.csv --id id --interval
cmp -s stdout both || fail "a model predicts other numbers beside another"
expect 0 priorboost predict --model m-sick.json --model m-visits.json --data test.csv --json
[ "$(field labels.1.label)" = visits ] || fail "the second label is $(field labels.1.label)"
[ "$(python3 -c 'import json; print(len(json.load(open("stdout"))["labels"][0]["prediction"]))')" = 2000 ] || fail "rows are missing"
expect 0 priorboost evaluate --model m-sick.json --model m-visits.json --data test.csv --json --report 'e-{label}.html'
loss=$(field labels.1.loss)
[ -s e-sick.html ] && [ -s e-visits.html ] || fail "there is no page for each label"
expect 0 priorboost evaluate --model m-visits.json --data test.csv --json
[ "$(field loss)" = "$loss" ] || fail "a model is evaluated otherwise beside another"
expect 0 priorboost evaluate --model m-sick.json --model m-visits.json --data test.csv
printed 'label visits'

# Noise: every column has its bounds and its part of epsilon.
NOISE=(--labels sick=0:1:1,visits=0:20:1,cost=-10:10 --shares 1,1,2 --family logistic,poisson,linear)
expect 0 train "${NOISE[@]}" --epsilon 3 --seed 1 --json
[ "$(field labels.0.epsilon) $(field labels.2.epsilon)" = '0.75 1.5' ] || fail "epsilon is $(field labels.0.epsilon)"
size=$(field labels.0.bag_size)
within 11 3000 "$size" # larger than the least under noise
[ "$(field labels.2.bag_size)" = "$size" ] || fail "the columns have different bags"
within 0.5 1.1 "$(field labels.0.theta.0)"

# An oracle with the columns.
expect 0 priorboost oracle init --store store.db --min-bag 10 --epsilon 3 --labels sick=0:1:1,visits=0:20:1,cost=-10:10 --shares 1,1,2
sed 's/,yes,/,1,/; s/,no,/,0,/' data.csv >holder.csv
expect 0 priorboost oracle import --store store.db --data holder.csv --id id
cut -d, -f1-4 data.csv >learner.csv
(umask 077 && priorboost oracle token create --store store.db --name lab >token)
serve_store
ask() { priorboost train --data learner.csv --id id --drop person --oracle unix:socket --token-file token "$@"; }
refuse() { # refuse CODE MESSAGE COMMAND...
    expect "$1" "${@:3}"
    says "$2"
}
refuse 2 'it must have one word for all or one for each' ask --family logistic,poisson
refuse 2 "--out is 'm.json'; with several labels it must have {label}" ask --family linear --out m.json
refuse 2 '--bags prior or hybrid cannot be used with several label columns' ask --family linear --bags prior
refuse 2 '--labels cannot be used with --oracle' ask --family linear --labels sick
expect 0 ask --family logistic,poisson,linear --out 's-{label}.json' --json
[ "$(field labels.1.label) $(field labels.1.family)" = 'visits poisson' ] || fail "the columns are mixed up"
[ "$(field labels.0.bag_size)" = "$size" ] || fail "the plan is not that of labels in the program"
within 0.5 1.1 "$(field labels.0.theta.0)"
within 1.8 2.2 "$(field labels.2.theta.0)"
expect 0 priorboost evaluate --model s-sick.json --model s-visits.json --model s-cost.json --data test.csv --json
within 0.5 0.66 "$(field labels.0.loss)"
no_file 's-{label}.json.checkpoint'

# Bad input.
refuse 2 '--family has 2 words, but there is one label' train --label sick --family logistic,linear
refuse 2 '--label and --labels contradict each other' train --label sick "${LABELS[@]}"
refuse 2 '--shares is' train --label sick --family logistic --shares 1
refuse 2 "--labels has 'sick' twice" train --labels sick,sick --family logistic
refuse 2 "column 'cost' has no bounds, but others have" train --labels sick=0:1,cost --family logistic,linear
refuse 2 'labels have no bounds' train "${LABELS[@]}" --epsilon 1
refuse 2 'must have {label}' train "${LABELS[@]}" --out m.json
refuse 2 "cannot be used with several label columns: there is one round" train "${LABELS[@]}" --schedule equal
refuse 2 '--estimator cannot be used with several label columns' train "${LABELS[@]}" --estimator event
refuse 3 "label 'cost' is" train --labels sick=0:1,cost=-1:1 --family logistic,linear
refuse 3 "'none'" train --labels sick,none --family logistic
refuse 2 "have the same label, 'sick'" priorboost predict --model m-sick.json --model s-sick.json --data test.csv
refuse 2 '--label is for one model' priorboost evaluate --model m-sick.json --model m-cost.json --data test.csv --label sick
refuse 2 'must have {label}' priorboost evaluate --model m-sick.json --model m-cost.json --data test.csv --report e.html
echo "columns: $checks checks"
