#!/usr/bin/env bash
# Tables larger than the memory that a command may use: predict, evaluate and oracle import hold a
# part of them only, and train says what it needs.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# 160 MB of two thousand rows, again and again.
python3 - <<'PYTHON'
import random
random.seed(2)
header = ",".join(f"x{j}" for j in range(1, 9)) + ",note,y\n"
rows = []
for _ in range(2000):
    x = [random.gauss(0, 1) for _ in range(8)]
    rows.append(",".join(f"{v:.9f}" for v in x) + f",{'z' * 40},{'yes' if x[0] + random.gauss(0, 1) > 0 else 'no'}\n")
block = "".join(rows)
open("small.csv", "w").write(header + block)
with open("large.csv", "w") as f:
    f.write(header)
    for _ in range(160_000_000 // len(block)):
        f.write(block)
with open("ids.csv", "w") as f: # the store needs the ids; the rest of a row it does not
    f.write("id,note,y\n")
    note = "z" * 1600
    for i in range(100_000):
        f.write(f"{i},{note},{i % 2}\n")
PYTHON
rows=$(($(wc -l <large.csv) - 1))
priorboost train --data small.csv --label y --family logistic --min-bag 5 --drop note --out m.json >/dev/null 2>&1

# peak MEGABYTES COMMAND...: it succeeds, and needs no more memory than that.
peak() {
    python3 - "$@" <<'PYTHON' || fail "memory"
import resource, subprocess, sys
limit, command = int(sys.argv[1]), sys.argv[2:]
code = subprocess.run(command, stdout=open("stdout", "w"), stderr=open("stderr", "w")).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print(f"{peak:.0f} MB of {limit}: {' '.join(command[1:4])}", file=sys.stderr)
sys.exit(code != 0 or peak > limit)
PYTHON
    checks=$((checks + 1))
}
peak 40 "$PRIORBOOST" predict --model m.json --data large.csv --out p.csv
[ "$(wc -l <p.csv)" -eq $((rows + 1)) ] || fail "predictions are missing"
expect 0 priorboost predict --model m.json --data small.csv --out s.csv
cmp -s <(head -n 2001 p.csv) s.csv || fail "blocks change predictions"

# what is true of a table holds across blocks: ids are unique, and lines are those of the file
awk -F, -v OFS=, 'NR == 1 {print "id", $0; next} NR <= 60001 {print "a" NR, $0}' large.csv >ids.csv.head
sed '59999s/^a59999,/a3,/' ids.csv.head >twice.csv
expect 3 priorboost predict --model m.json --data twice.csv --id id --out t.csv
says "twice.csv:59999: id 'id' is 'a3', as in a row far above; ids must be unique"
no_file t.csv
expect 0 priorboost predict --model m.json --data ids.csv.head --id id --out t.csv
[ "$(wc -l <t.csv)" -eq 60001 ] || fail "rows are missing"
sed '59999s/,[-0-9.]*/,wrong/' ids.csv.head >wrong.csv
expect 3 priorboost predict --model m.json --data wrong.csv --id id --out w.csv
says "wrong.csv:59999: column 'x1' is 'wrong'"
no_file w.csv

peak 50 "$PRIORBOOST" evaluate --model m.json --data large.csv --json # 8 bytes a row for the area under the curve
auc=$(field auc) loss=$(field loss)
[ "$(field rows)" -eq "$rows" ] || fail "rows are missing"
expect 0 priorboost evaluate --model m.json --data small.csv --json
within -1e-12 1e-12 "$(python3 -c "print($auc - $(field auc))")"
within -1e-12 1e-12 "$(python3 -c "print($loss - $(field loss))")"
expect 0 priorboost oracle init --store o.db --min-bag 5 --bounds 0,1 --no-noise
peak 60 "$PRIORBOOST" oracle import --store o.db --data ids.csv --id id --label y --json
[ "$(field rows)" -eq 100000 ] || fail "the import has $(field rows) rows"

# Curves are computed when they are read: as an array they would be eight times the table.  Trees
# refer to the features: the table is not kept beside them.
head -n 100001 large.csv >part.csv
sized=(--data part.csv --label y --family logistic --min-bag 50 --drop note --threads 1)
peak 34 "$PRIORBOOST" train "${sized[@]}" --model smooth
peak 37 "$PRIORBOOST" train "${sized[@]}" --model trees

# Twice the table in doubles, which is 130 MB: no copy of a large table in the order of bags, and no
# table beside its features.
expect 0 priorboost generate --family logistic --rows 850000 --features 20 --seed 1 --out wide.csv
peak 260 "$PRIORBOOST" train --data wide.csv --label y --family logistic --min-bag 32 --threads 1

# what train needs, where there is not enough
got=0
(ulimit -v 120000; exec "$PRIORBOOST" train --data large.csv --label y --family logistic --min-bag 5 --threads 1) >stdout 2>stderr || got=$?
[ $got -eq 1 ] || fail "exit code $got instead of 1"
says 'out of memory: train keeps the whole table large.csv in memory: 16 bytes a cell'
says 'large.csv has about'
says 'GB of memory; 0.123 GB are free'
finish
