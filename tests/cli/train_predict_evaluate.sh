#!/usr/bin/env bash
# A person with a CSV file trains, predicts and evaluates with one command each.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ---- the paper's linear data in small: PriorBoost at the noise floor, OneShot far above it ----
priorboost generate --family linear --rows 65536 --features 8 --noise 0.1 --seed 1 --out d.csv \
    --test-rows 20000 --test-out e.csv --truth t.json
run() { expect 0 priorboost train --data d.csv --label y --family linear --no-intercept --min-bag 4 \
    --test e.csv --json "$@"; }
run --method paper --rounds 32 --out model.json
within 0.0098 0.0105 "$(field history.31.test_loss)"
[ "$(field rows_spent)" = 65536 ] || fail "rows_spent"
[ "$(field algorithm) $(field estimator) $(field bags) $(field min_bag) $(field rounds) $(field epsilon)" = \
    "priorboost event prior 4 32 null" ] || fail "fields of the report"
run --algorithm oneshot
norm2=$(python3 -c 'import json; print(json.load(open("t.json"))["norm2"])')
oneshot=$(python3 -c "print((1-1/4)**2*$norm2+0.01)")
within "$(python3 -c "print(0.97*$oneshot)")" "$(python3 -c "print(1.03*$oneshot)")" "$(field test_loss)"
run --algorithm pbprefix --rounds 32
within 0.0098 0.2 "$(field test_loss)"

# ---- evaluate agrees with train's own test loss; predict with evaluate ----
expect 0 priorboost evaluate --model model.json --data e.csv --label y --json
within 0.0098 0.0105 "$(field loss)"
[ "$(field rows)" = 20000 ] || fail "rows"
loss=$(field loss)
expect 0 priorboost predict --model model.json --data e.csv --out p.csv
mse=$(paste -d, p.csv e.csv | python3 -c 'import csv,sys
r=list(csv.DictReader(sys.stdin)); print(sum((float(a["prediction"])-float(a["y"]))**2 for a in r)/len(r))')
python3 -c "import sys; sys.exit(abs($mse/$loss-1) > 1e-9)" || fail "predict and evaluate disagree: $mse $loss"

# ---- same bits for any number of threads ----
for threads in 1 2 4; do
    expect 0 priorboost train --data d.csv --label y --family linear --min-bag 8 --method paper --rounds 8 \
        --threads $threads --out threads-$threads.json --quiet
done
cmp threads-1.json threads-2.json && cmp threads-1.json threads-4.json || fail "threads change the model"

# ---- logistic and Poisson twins ----
priorboost generate --family logistic --rows 65536 --features 8 --round-labels --seed 2 --out l.csv --test-rows 20000 --test-out lt.csv
logistic() { expect 0 priorboost train --data l.csv --label y --family logistic --no-intercept --min-bag 16 \
    --l2 10 --test lt.csv --json "$@"; }
logistic --rounds 32 --round --seed 3
curated=$(field test_loss)
[ "$(field simulated)" = true ] || fail "simulated is not said"
logistic --algorithm oneshot --round --seed 3
python3 -c "import sys; sys.exit(not $curated < 0.6*$(field test_loss))" || fail "logistic: $curated against $(field test_loss)"
priorboost generate --family poisson --rows 65536 --features 8 --seed 2 --out q.csv --test-rows 20000 --test-out qt.csv
poisson() { expect 0 priorboost train --data q.csv --label y --family poisson --min-bag 16 --test qt.csv --json "$@"; }
poisson --rounds 16
curated=$(field test_loss)
poisson --algorithm oneshot
python3 -c "import sys; sys.exit(not $curated < $(field test_loss) - 0.02)" || fail "poisson: $curated against $(field test_loss)"

# ---- privacy: noise from the seed is reproducible and said to be simulated; from the system it is not ----
private() { expect 0 priorboost train --data l.csv --label y --family logistic --min-bag 64 --method paper --rounds 4 \
    --epsilon 0.5 --bounds 0,1 --json "$@"; }
private --seed 7
first=$(field theta)
[ "$(field simulated) $(field epsilon)" = "true 0.5" ] || fail "simulated"
private --seed 7
[ "$(field theta)" = "$first" ] || fail "a seed does not repeat"
private
[ "$(field simulated)" = false ] || fail "system noise said to be simulated"
second=$(field theta)
private
[ "$(field theta)" != "$second" ] || fail "system noise repeats"

# ---- categories, ids, weights, offsets, standardisation, a prior ----
python3 - <<'PY'
import csv, math, random
random.seed(5)
rows = []
for i in range(4000):
    age, sex, dose = random.gauss(50, 12), random.choice(["f", "m"]), random.choice([1, 2, 3])
    exposure = random.uniform(0.5, 2)
    y = 0.05 * age + (1.5 if sex == "m" else 0) + {1: 0, 2: 1, 3: -1}[dose] + random.gauss(0, 0.1)
    rows.append([f"p{i}", age, sex, dose, math.log(exposure), random.choice([1, 2]), y])
for name, some in (("table.csv", rows[:3000]), ("held.csv", rows[3000:]), ("shuffled.csv", random.sample(rows[:3000], 3000))):
    with open(name, "w", newline="") as f:
        w = csv.writer(f, delimiter=";")
        w.writerow(["patient id", "age", "sex", "dose", "logt", "w", "score"])
        w.writerows(some)
PY
table() { expect 0 priorboost train --data "$1" --label score --id 'patient id' --family linear --min-bag 2 --method paper --rounds 8 \
    --exclude logt --weight w --categorical dose --l2 0.001 --standardize --test held.csv --json "${@:2}"; }
table table.csv --out table.json
[ "$(field columns)" = '["age", "sex=m", "dose=2", "dose=3"]' ] || fail "columns: $(field columns)"
within 0.009 0.014 "$(field test_loss)"
within 0.049 0.051 "$(field theta.0)"
within 1.4 1.6 "$(field theta.1)"
theta=$(field theta)
table shuffled.csv
python3 -c 'import sys,json; a,b=map(json.loads,sys.argv[1:]); sys.exit(max(abs(x-y) for x,y in zip(a,b))>1e-9)' \
    "$theta" "$(field theta)" || fail "with ids the order of rows must not matter"
table table.csv --prior table.json
python3 -c "import sys; sys.exit(not $(field history.0.test_loss) < 0.02)" || fail "a prior does not help round 1"
expect 0 priorboost predict --model table.json --data held.csv --id 'patient id'
head -n 2 stdout | grep -q '^p3000,' || fail "ids before predictions"
expect 0 priorboost evaluate --model table.json --data held.csv
printed r2

# ---- people's output, help, a positive level ----
expect 0 priorboost train --data d.csv --label y --family linear --min-bag 8 --out people.json
printed 'round'
printed 'x8'
printed 'model written to people.json'
expect 0 priorboost train --data d.csv --label y --family linear --min-bag 8 --quiet
[ ! -s stdout ] && [ ! -s stderr ] || fail "--quiet is not quiet"
for command in generate train predict evaluate bags; do
    expect 0 priorboost $command --help
    printed "Usage: priorboost $command"
    printed 'Exit codes'
done
expect 0 priorboost --version
expect 0 priorboost --help
python3 - <<'PY'
import random
random.seed(1)
with open("adult.csv", "w") as f:
    f.write(" sex,age, income\n")
    for _ in range(2000):
        age = random.randint(18, 80)
        f.write(f" {random.choice(['Male', 'Female'])},{age}, {'>50K' if random.random() < age / 100 else '<=50K'}\n")
PY
expect 0 priorboost train --data adult.csv --label income --positive '>50K' --family logistic --min-bag 4 --out a.json --json
python3 -c "import sys; sys.exit(not $(field theta.1) > 0)" || fail "the positive level: $(field columns) $(field theta)"
expect 0 priorboost evaluate --model a.json --data adult.csv --json
within 0.5 1 "$(field auc)"

# ---- an interrupt ends a run that would take long, at once and without a model ----
priorboost generate --family logistic --rows 100000 --features 8 --seed 1 --out long.csv
for signal in INT TERM; do
    "$PRIORBOOST" train --data long.csv --label y --family logistic --min-bag 2 --algorithm pbprefix --rounds 5000 \
        --out long.json >stdout 2>stderr &
    pid=$!
    # until it listens; the shell that becomes it does so for other reasons
    until [ "$(cat /proc/$pid/comm)" = priorboost ] &&
        [ $((0x$(sed -n 's/^SigCgt:\t//p' /proc/$pid/status) & 0x4000)) -ne 0 ]; do sleep 0.05; done
    kill -$signal $pid
    code=0
    wait $pid || code=$?
    [ $code -eq 1 ] || fail "exit code $code after SIG$signal"
    says 'priorboost train: stopped'
    no_file long.json
done

# ---- bags ----
expect 0 priorboost bags --min-bag 2 <(printf '5\n1\n5.1\n1.2\n9\n5.2\n9.5\n')
[ "$(tr '\n' ' ' <stdout)" = "1 0 1 0 2 1 2 " ] || fail "optimal bags: $(tr '\n' ' ' <stdout)"
expect 0 bash -c 'seq 1000 | "$0" bags --min-bag 7 --strategy random --json -' "$PRIORBOOST"
[ "$(field bags)" = 142 ] || fail "random bags"
finish
