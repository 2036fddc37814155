#!/usr/bin/env bash
# "-" is standard input or output, wherever a file can be given.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# from FILE CODE COMMAND...: like expect, with that standard input.
from() {
    local file=$1 want=$2 got=0
    shift 2
    "$@" <"$file" >stdout 2>stderr || got=$?
    [ "$got" -eq "$want" ] || fail "exit code $got instead of $want: $*"
    checks=$((checks + 1))
}
# same FILE: the last command printed that.
same() { cmp -s "$1" stdout || fail "the output is not $1"; }

# ---- generate ----
gen=(priorboost generate --family logistic --rows 500 --features 3 --ids --seed 3)
expect 0 "${gen[@]}" --out d.csv --truth t.json --test-rows 50 --test-out test.csv
expect 0 "${gen[@]}" --out -
same d.csv
expect 0 "${gen[@]}" --out d2.csv --test-rows 50 --test-out test2.csv --truth -
same t.json
expect 0 "${gen[@]}" --out d2.csv --test-rows 50 --test-out -
same test.csv
expect 2 "${gen[@]}" --out - --truth -
says "--out and --truth are both '-', standard output; name a file"
expect 2 "${gen[@]}" --out - --json
says '--json and --out - both write to standard output'

# ---- describe, plan ----
expect 0 priorboost describe d.csv
cp stdout want
from d.csv 0 priorboost describe -
same want
plan=(priorboost plan --family logistic --min-bag 5 --label y --id id)
expect 0 "${plan[@]}" --data d.csv --out plan.html
cp stdout want
from d.csv 0 "${plan[@]}" --data - --out p.html
sed 's/p\.html/plan.html/' stdout | cmp -s want - || fail "plan from standard input differs"
from d.csv 0 "${plan[@]}" --data - --out -
grep -q '<html' stdout || fail "the page is not on standard output"
grep -q 'bags of' stderr || fail "the text for people is lost"

# ---- train ----
train=(priorboost train --family logistic --label y --id id --min-bag 5)
expect 0 "${train[@]}" --data d.csv --out m.json
from d.csv 0 "${train[@]}" --data - --out m2.json
cmp -s m.json m2.json || fail "train from standard input differs"
from d.csv 0 "${train[@]}" --data - --out -
same m.json
says 'effective degrees of freedom'
from d.csv 0 "${train[@]}" --data - --report -
grep -q '<html' stdout || fail "the report is not on standard output"
from test.csv 0 "${train[@]}" --data d.csv --test -
from m.json 0 "${train[@]}" --data d.csv --method paper --prior -
from d.csv 2 "${train[@]}" --data - --test -
says "--data and --test are both '-', standard input; name a file"
from d.csv 2 "${train[@]}" --data - --out - --report -
from d.csv 2 "${train[@]}" --data - --out - --json
printf 'bag,x\n1,1\n1,2\n2,3\n2,4\n3,5\n3,7\n' >bags.csv
printf 'bag,count,mean\n1,2,1\n2,2,2\n3,2,4\n' >answers.csv
from answers.csv 0 priorboost train --family linear --data bags.csv --bag bag --answers - --force
from d.csv 2 priorboost train --family logistic --data d.csv --id id --oracle http://127.0.0.1:1 --token-file -
says "--token-file is '-'; it must be a file"

# ---- predict, evaluate, report, bags ----
expect 0 priorboost predict --model m.json --data d.csv --id id --out p.csv
from d.csv 0 priorboost predict --model m.json --data - --id id
same p.csv
from m.json 0 priorboost predict --model - --data d.csv --id id --out -
same p.csv
from m.json 2 priorboost predict --model - --data -
says "--model and --data are both '-'"
expect 0 priorboost evaluate --model m.json --data d.csv
cp stdout want
from d.csv 0 priorboost evaluate --model m.json --data -
same want
from m.json 0 priorboost evaluate --model - --data d.csv
same want
expect 0 priorboost report m.json --out r.html
from m.json 0 priorboost report - --out r2.html
from m.json 0 priorboost report - --out -
same r2.html
from /dev/null 3 priorboost report - --out r3.html
says 'standard input is empty'
seq 1 20 >scores
expect 0 priorboost bags --min-bag 3 scores --out b.txt
from scores 0 priorboost bags --min-bag 3 - --out -
same b.txt

# ---- the oracle ----
expect 0 priorboost oracle init --store o.db --min-bag 5 --bounds 0,1 --no-noise
from d.csv 0 priorboost oracle import --store o.db --data - --id id --label y
echo 7 >ids
from ids 0 priorboost oracle forget --store o.db --id-file -
printf 'person\n8\n' >ids.csv
from ids.csv 0 priorboost oracle forget --store o.db --id-file - --id-column person
expect 0 priorboost oracle export-ledger --store o.db --out ledger
expect 0 priorboost oracle export-ledger --store o.db --out -
same ledger
expect 0 priorboost oracle export-audit --store o.db --out audit
expect 0 priorboost oracle export-audit --store o.db --out -
cp stdout audit2
expect 0 priorboost oracle public-key --store o.db
key=$(grep -oE '[0-9a-f]{64}' stdout | head -n 1)
from audit2 0 priorboost oracle verify-audit --public-key "$key" -
from audit2 0 priorboost oracle verify-audit --public-key "$key" --previous - audit
expect 2 priorboost oracle token prepare --out -
says "--out is '-'; it must be a file"
expect 0 priorboost oracle token create --store o.db --name boss --role approver
grep -oE 'pboost_[A-Za-z0-9_-]+|[A-Za-z0-9_-]{40,}' stdout | head -n 1 >secret
expect 0 priorboost oracle token create --store o.db --name pending --rows 100 --pending
from secret 0 priorboost oracle token approve --store o.db --name pending --approver-token -
finish
