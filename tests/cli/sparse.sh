#!/usr/bin/env bash
# Sparse rows: hashed click logs and svmlight files, from the log to predictions; what is refused.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# ---- a click log, hashed ----
expect 0 priorboost generate --design clicks --rows 6000 --seed 1 --ids --out clicks.csv \
    --test-rows 3000 --test-out test.csv --truth truth.json
[ "$(head -n 1 clicks.csv | cut -d, -f1-3,15,41)" = id,click,n1,n13,c26 ] || fail 'the header'
within 0.03 0.07 "$(awk -F, 'NR > 1 { s += $2; n++ } END { print s / n }' clicks.csv)"
common=(--data clicks.csv --id id --label click --min-bag 4 --seed 1 --hash 12)
expect 0 priorboost train "${common[@]}" --cross 'c1*c2' --test test.csv --out model.json \
    --report run.html --json
[ "$(field family)" = logistic ] || fail 'the default family'
[ "$(field bags)" = features ] || fail 'the default bags'
[ "$(field rounds)" = 1 ] || fail 'the default rounds'
[ "$(field sparse.columns)" = 4096 ] || fail 'the number of columns'
[ "$(field sparse.hash_bits)" = 12 ] || fail 'the bits'
[ "$(field rows_spent)" = 6000 ] || fail 'the rows'
loss=$(field test_loss)
grep -q '<svg' run.html || fail 'the page has no chart'
expect 0 priorboost train "${common[@]}" --cross 'c1*c2' --test test.csv
printed 'columns have a weight; the heaviest are these'
grep -qE '^(c[0-9]+=v[0-9]+|n[0-9]+)' stdout || fail 'the heaviest columns have no names'

expect 0 priorboost evaluate --model model.json --data test.csv --hash 12 --json
[ "$(field rows)" = 3000 ] || fail 'the rows of the test'
within "$(python3 -c "print($loss - 1e-12)")" "$(python3 -c "print($loss + 1e-12)")" "$(field loss)"
expect 0 priorboost predict --model model.json --data test.csv --id id --out all.csv
[ "$(wc -l <all.csv)" = 3001 ] || fail 'the number of predictions'
# Rows do not depend on each other, nor on columns that the model does not use.
{ head -n 1 test.csv; tail -n 2 test.csv; } | sed 's/^/x,/; 1s/^x/other/' >two.csv
expect 0 priorboost predict --model model.json --data two.csv --id id
diff <(tail -n 2 all.csv) <(tail -n 2 stdout) || fail 'two rows alone are predicted otherwise'
expect 0 priorboost report model.json --out report.html
grep -qE 'c[0-9]+=v[0-9]+|n[0-9]+' report.html || fail 'the page names no column'
# The same run writes the same file, whatever the order of the rows and the number of threads.
{ head -n 1 clicks.csv; tail -n +2 clicks.csv | tac; } >turned.csv
for threads in 1 2; do
    expect 0 priorboost train "${common[@]}" --threads $threads --out "t$threads.json"
done
cmp t1.json t2.json || fail 'threads change the model'
expect 0 priorboost train --data turned.csv "${common[@]:2}" --out turned.json
for model in t1 turned; do
    expect 0 priorboost predict --model $model.json --data test.csv --out $model.csv
done
within 0 1e-5 "$(paste -d, t1.csv turned.csv | awk -F, 'NR > 1 { d = $1 - $2; d = d < 0 ? -d : d
    if (d > most) most = d } END { print most + 0 }')"

# ---- the estimators, the bags ----
for bags in random prior hybrid; do
    expect 0 priorboost train "${common[@]}" --bags $bags --rounds 2 --l2 30 --json
    [ "$(field bags)" = $bags ] || fail "bags $bags"
done
expect 0 priorboost train "${common[@]}" --estimator event --algorithm pbprefix --json
[ "$(field estimator)" = event ] || fail 'the estimator'
[ "$(field method)" = paper ] || fail 'the method'
expect 0 priorboost train "${common[@]}" --epsilon 1 --bounds 0,1 --l2 100 --force --json
[ "$(field epsilon)" = 1.0 ] || fail 'epsilon'

# ---- bags of neighbours in the order of columns ----
key=("${common[@]}" --bag-key c1,n1 --l2 30)
expect 0 priorboost train "${key[@]}" --json
[ "$(field bags)" = features ] || fail 'the bags of a key'
[ "$(field rows_spent)" = 6000 ] || fail 'the rows of a key'
for threads in 1 2; do
    expect 0 priorboost train "${key[@]}" --threads $threads --out "k$threads.json"
done
cmp k1.json k2.json || fail 'threads change the model of a key'
# A key that is the label's own cause separates it: bags of 0 and bags of 1, from which all is learnt.
awk -F, 'BEGIN { print "id,y,g,x"; for (i = 0; i < 4000; i++) {
    g = (i * 7919) % 40; print i "," (g < 10) ",g" g ",x" (i * 31) % 50 } }' >groups.csv
awk -F, 'NR == 1 || NR % 2' groups.csv >half.csv
for options in '--bag-key g' '--bags random'; do
    # shellcheck disable=SC2086
    expect 0 priorboost train --data groups.csv --id id --label y --hash 10 --min-bag 20 --seed 1 --l2 1 $options \
        --out g.json
    expect 0 priorboost evaluate --model g.json --data half.csv --label y --json
    printf '%s\n' "$(field loss)" >>losses
done
python3 -c 'k, r = map(float, open("losses")); assert k < 0.5 * r, (k, r)' || fail 'the key tells nothing'
# The same in an svmlight file, where columns are indices: a group is the value of column 3.
awk -F, 'NR > 1 { g = substr($3, 2); print $2 " 3:" 0.01 * (1 + g * 17 % 40) " " 10 + g ":1 " 60 + substr($4, 2) ":1" }' \
    groups.csv >groups.svm
rm losses
for options in '--bag-key 3' '--bags random'; do
    # shellcheck disable=SC2086
    expect 0 priorboost train --data groups.svm --min-bag 20 --seed 1 --l2 1 $options --out g.json
    expect 0 priorboost evaluate --model g.json --data groups.svm --json
    printf '%s\n' "$(field loss)" >>losses
done
python3 -c 'k, r = map(float, open("losses")); assert k < 0.5 * r, (k, r)' || fail 'the index tells nothing'
for column in 110 0 day; do
    expect 2 priorboost train --data groups.svm --min-bag 20 --bag-key 3,$column --out none.json
    says "--bag-key: '$column' is no column; it must be an index from 1 to 109"
    no_file none.json
done
# The order of the rows does not matter.
{ head -n 1 groups.csv; tail -n +2 groups.csv | tac; } >groups2.csv
for table in groups groups2; do
    expect 0 priorboost train --data $table.csv --id id --label y --hash 10 --min-bag 20 --seed 1 --l2 1 \
        --bag-key g,x --out $table.json
    expect 0 priorboost predict --model $table.json --data half.csv --out $table.predicted
done
within 0 1e-5 "$(paste -d, groups.predicted groups2.predicted | awk -F, 'NR > 1 { d = $1 - $2; d = d < 0 ? -d : d
    if (d > most) most = d } END { print most + 0 }')"

# ---- standard errors of columns that are named ----
expect 0 priorboost train "${common[@]}" --l2 30 --cross 'c1*c2' --errors 'n1,c1=v0,c1=v0*c2=v1' --json
[ "$(field columns | python3 -c 'import json, sys; print(json.load(sys.stdin)[-3:])')" = \
    "['n1', 'c1=v0', 'c1=v0*c2=v1']" ] || fail 'the columns that were named'
for i in -3 -2 -1; do
    within 1e-6 1 "$(field standard_errors.$i)"
done
within 1e-6 1 "$(field intercept_standard_error)"
expect 0 priorboost train "${common[@]}" --l2 30 --errors n1
printed '95 % interval'

# ---- svmlight ----
expect 0 priorboost generate --design clicks --rows 6000 --seed 1 --ids --out clicks.svm \
    --test-rows 3000 --test-out test.svm
expect 3 priorboost train --data clicks.svm --min-bag 4 --seed 1 --test test.svm
says 'is out of range; it must be from 1 to'
expect 0 priorboost train --data clicks.svm --min-bag 4 --seed 1 --test test.svm --index-base 1 \
    --columns 3000000 --out svm.json --json
[ "$(field sparse.columns)" = 3000000 ] || fail 'the columns of the file'
[ "$(field sparse.hash_bits)" = 0 ] || fail 'no hash'
loss=$(field test_loss)
gzip -k test.svm
expect 0 priorboost evaluate --model svm.json --data test.svm.gz --json
within "$(python3 -c "print($loss - 1e-12)")" "$(python3 -c "print($loss + 1e-12)")" "$(field loss)"
expect 0 priorboost predict --model svm.json --data test.svm --id comment
[ "$(sed -n 2p stdout | cut -d, -f1)" = 1 ] || fail 'the ids are the comments'
expect 0 priorboost report svm.json model.json --out both.html
grep -q 'column [0-9]' both.html || fail 'the page does not show the columns of the file'

# Labels of -1 and +1, a qid, and indices from 0.
awk 'BEGIN { for (i = 0; i < 400; i++) print (i % 3 ? "-1" : "+1"), "qid:" i, i % 3 ":1 7:0.5" }' >signs.svm
expect 0 priorboost train --data signs.svm --min-bag 2 --seed 1 --out signs.json --json
says 'note: 400 rows have a qid, which is ignored'
[ "$(field sparse.columns)" = 8 ] || fail 'indices from 0'
expect 0 priorboost evaluate --model signs.json --data signs.svm --json
within 0.95 1 "$(field auc)"

# ---- plans: larger bags keep less, bags from features more than random ones, noise takes some ----
expect 0 priorboost plan --data clicks.csv --id id --label click --hash 12 --cross 'c1*c2' --min-bag 4,16 \
    --epsilon none,1 --bounds 0,1 --mean 0.05 --seed 1 --json
python3 - stdout <<'END' || fail 'the plan'
import json, sys
plan = json.load(open(sys.argv[1]))
kept = {(p["min_bag"], p["epsilon"], p["bags"]): p["kept"] for p in plan["points"]}
assert (plan["rows"], plan["other_rows"], plan["columns"]) == (5250, 750, 4096), plan
assert plan["mean"] == 0.05 and not plan["default_mean"] and plan["bags"] == "features", plan
assert len(kept) == 8 and 0 < plan["all_labels"] < plan["constant"], plan
for bags in ("features", "random"):
    assert 1 > kept[4, None, bags] > kept[16, None, bags] > kept[16, 1.0, bags] > 0, kept
    assert kept[4, None, bags] > kept[4, 1.0, bags], kept
assert kept[16, None, "features"] > kept[16, None, "random"], kept
END
expect 0 priorboost plan --data clicks.svm --min-bag 4 --seed 1
printed 'mean label 0.5 (assumed; --mean M says it)'
cp stdout plan.txt
sed 's/^[01] /7 /' clicks.svm >unlabelled.svm # no label is read: any will do
expect 0 priorboost plan --data unlabelled.svm --min-bag 4 --seed 1
cmp stdout plan.txt || fail 'the plan depends on labels'
for option in '--prior model.json' --no-intercept '--out none.svg' '--l2 1' '--target 5%' '--model-error 1' \
    '--sample 100' '--offset n1'; do
    # shellcheck disable=SC2086
    expect 2 priorboost plan --data clicks.csv --label click --hash 12 --min-bag 4 $option
    says "${option%% *} cannot be used with sparse rows"
done
expect 3 priorboost plan --data clicks.csv --label click --hash 12 --min-bag 5251
says '--min-bag is 5251, but the bags have 5250 rows; the other 750 are forecast'
expect 2 priorboost plan --data clicks.csv --label click --hash 12 --min-bag 4 --mean 1.5
says 'the mean label is 1.5; it must be'
expect 2 priorboost plan --data clicks.csv --label click --hash 27 --min-bag 4
says '--hash is 27; it must be from 1 to 26'

# ---- given bags ----
awk -F, 'NR == 1 { print $0 ",bag"; next } { print $0 ",b" int(NR / 5) }' clicks.csv >bagged.csv
awk -F, 'NR == 1 { print "bag,count,sum"; next }
    { b = "b" int(NR / 5); n[b]++; s[b] += $2 } END { for (b in n) print b "," n[b] "," s[b] }' clicks.csv >answers.csv
expect 0 priorboost train --data bagged.csv --bag bag --answers answers.csv --exclude id,click --hash 12 \
    --out given.json --json
[ "$(field algorithm)" = given ] || fail 'given bags'
expect 0 priorboost predict --model given.json --data test.csv

# ---- labels that stay elsewhere ----
cut -d, -f1,2 clicks.csv >labels.csv
cut -d, -f1,3- clicks.csv >features.csv
expect 0 priorboost oracle init --store store.db --min-bag 4 --no-noise --bounds 0,1
expect 0 priorboost oracle import --store store.db --data labels.csv --id id --label click
expect 0 priorboost oracle token create --store store.db --name learner --json
field token >token
chmod 600 token
serve_store
remote=(--data features.csv --id id --hash 12 --oracle unix:socket --token-file token --rounds 2 --l2 30 --seed 1
        --checkpoint checkpoint)
expect 0 priorboost train "${remote[@]}" --bags hybrid --out remote.json
expect 0 priorboost train "${common[@]}" --bags hybrid --rounds 2 --l2 30 --bounds 0,1 --out here.json
for model in remote here; do
    python3 -c 'import json, sys; m = json.load(open(sys.argv[1])); print(m["sparse"], m["intercept"])' \
        $model.json >$model.weights
done
cmp remote.weights here.weights || fail 'another model from the oracle'
expect 5 priorboost train "${remote[@]:0:10}" --no-checkpoint
says '6000 of 6000 rows are spent'
expect 0 priorboost train "${remote[@]}" --bags hybrid --resume --out again.json # the answers are kept
cmp remote.json again.json || fail 'the checkpoint gives another model'
expect 2 priorboost train "${remote[@]/12/13}" --bags hybrid --resume
says "belongs to another run: it has '--hash 12', this run has '--hash 13'"
kill $service
wait $service || true

# ---- what is refused ----
refused() { # CODE MESSAGE OPTION...
    local code=$1 message=$2
    shift 2
    expect "$code" priorboost train --label click --min-bag 4 --out none.json "$@"
    says "$message"
    no_file none.json
}
refused 2 '--hash is 27; it must be from 1 to 26' --data clicks.csv --hash 27
refused 2 '--hash' --data clicks.csv --hash 0
refused 2 '--cross needs --hash BITS' --data clicks.csv --family logistic --cross 'c1*c2'
refused 2 '--bag-key needs --hash BITS or an svmlight file' --data clicks.csv --family logistic --bag-key c1
refused 2 '--bag-key cannot be used with --bags' --data clicks.csv --hash 8 --bag-key c1 --bags random
refused 2 '--bag-key cannot be used with --bag:' --data clicks.csv --hash 8 --bag-key c1 --bag c2 --answers clicks.csv
refused 3 "has no column 'c99'" --data clicks.csv --hash 8 --bag-key c1,c99
refused 2 "the cross is 'c1*nothing'; it must be A*B" --data clicks.csv --hash 8 --cross 'c1*nothing'
refused 2 "the cross 'c1*n2' has the column 'n2' of numbers" --data clicks.csv --hash 8 --cross 'c1*n2'
refused 2 '--model cannot be used with --hash: the model of sparse rows is a glm' \
    --data clicks.csv --hash 8 --model trees
refused 2 '--model cannot be used with --hash: the model of sparse rows is a glm' \
    --data clicks.csv --hash 8 --model smooth
refused 2 '--model cannot be used with an svmlight file: the model of sparse rows is a glm' \
    --data clicks.svm --model trees
refused 2 '--estimator cannot be used with --hash' --data clicks.csv --hash 8 --estimator interpolated
refused 2 '--impute cannot be used with --hash' --data clicks.csv --hash 8 --impute mean
refused 2 "--errors: 'c99=v0' is not hashed" --data clicks.csv --hash 8 --errors c99=v0
expect 2 priorboost train --data clicks.svm --min-bag 4 --errors 0
says "--errors: '0' is no column; it must be an index from 1 to"
refused 2 '--errors needs --estimator aggregate' --data clicks.csv --hash 8 --errors n1 --estimator event
refused 2 '--errors needs --estimator aggregate' --data clicks.csv --hash 8 --errors n1 --algorithm oneshot
refused 2 '--errors needs --hash BITS' --data clicks.csv --family logistic --errors n1
refused 2 '--hash is for tables' --data clicks.svm --hash 8
refused 2 '--types cannot be used with an svmlight file' --data clicks.svm --categorical n1
refused 2 "--index-base is '2'; it must be 0 or 1" --data clicks.svm --index-base 2
refused 2 '--columns needs --index-base' --data clicks.svm --columns 9
bad() { # MESSAGE LINE...
    local message=$1
    shift
    printf '%s\n' "$@" >bad.svm
    expect 3 priorboost train --data bad.svm --min-bag 2 --out none.json
    says "$message"
    no_file none.json
}
bad 'bad.svm:2:7: index 3 is repeated' '1 1:1' '0 3:1 3:2'
bad 'bad.svm:2:7: index 2 stands after 3; the indices of a row must ascend' '1 1:1' '0 3:1 2:2'
bad "bad.svm:1:5: the value of index 3 is 'x'; it must be a finite number" '1 3:x'
bad "bad.svm:1:5: the value of index 3 is 'inf'; it must be a finite number" '1 3:inf'
bad "bad.svm:1:5: the value of index 3 is 'nan'; it must be a finite number" '1 3:nan'
bad "bad.svm:2:1: the label is 'yes'" '1 3:1' 'yes 3:1'
bad "bad.svm:1: label 'label' is '2'" '2 3:1' '1 4:1'
bad 'no row has an entry' 1 0
bad 'bad.svm has no rows' '# nothing'
expect 2 priorboost predict --model model.json --data test.csv --hash 18
says '--hash is 18, but model.json was trained with --hash 12; leave it out, or train again'
expect 2 priorboost evaluate --model svm.json --data test.svm --hash 18
says '--hash is 18, but svm.json was trained without --hash'
expect 3 priorboost predict --model model.json --data test.svm
says 'test.svm is an svmlight file, but the model takes columns by name (--hash 12)'
expect 3 priorboost predict --model svm.json --data test.csv
says "test.csv:1:1: the label is 'id,click,"
expect 3 priorboost predict --model signs.json --data test.svm
says 'is out of range; it must be from 0 to 7'
sed 's/"bits":12/"bits":11/' model.json >bits.json
expect 3 priorboost predict --model bits.json --data test.csv
says 'the hash has 11 bits, but there are 4096 columns; there must be 2^11'
cut -d, -f1-40 test.csv >short.csv
expect 3 priorboost predict --model model.json --data short.csv
says "has no column 'c26'"
expect 3 priorboost predict --model model.json --data test.csv --interval
says 'models of sparse rows have no intervals'
expect 3 priorboost export model.json model.onnx
says 'sparse rows'
for options in '--features 3' '--noise 1' '--family linear' '--rate 2'; do
    # shellcheck disable=SC2086
    expect 2 priorboost generate --design clicks --rows 9 --seed 1 --out none.csv $options
done
expect 2 priorboost generate --design other --rows 9 --seed 1 --out none.csv
says "--design is 'other'; it must be paper or clicks"
finish
