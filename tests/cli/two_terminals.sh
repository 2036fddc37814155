#!/usr/bin/env bash
# Both parties by hand: the label holder in one terminal, the learner in the other.
. "$(dirname "$0")/lib.sh"

priorboost generate --family logistic --rows 2000 --features 4 --seed 1 --out both.csv
# An id in front; the learner's table has no label, the label holder's no features.
awk -F, -v OFS=, 'NR == 1 {print "id", $0; next} {print "p" NR, $0}' both.csv >full.csv
cut -d, -f1-5 full.csv >features.csv
cut -d, -f1,6 full.csv >labels.csv
head -n 1 labels.csv | grep -qx 'id,y' || fail "labels.csv: $(head -n 1 labels.csv)"

# ---- the label holder ----
expect 0 priorboost oracle init --store store.db --min-bag 10 --no-noise --bounds 0,1
expect 0 priorboost oracle import --store store.db --data labels.csv --id id --label y
expect 0 priorboost oracle token create --store store.db --name berlin --json
field token >token
chmod 600 token
serve_store

# ---- the learner ----
expect 0 priorboost train --data features.csv --id id --family logistic --oracle unix:socket --token-file token \
    --rounds 4 --seed 9 --checkpoint checkpoint --out remote.json --json
[ "$(field rows_spent)" = 2000 ] || fail "rows_spent is $(field rows_spent)"
remote=$(field theta)
expect 0 priorboost train --data full.csv --id id --label y --family logistic --min-bag 10 --bounds 0,1 \
    --rounds 4 --seed 9 --out here.json --json
[ "$(field theta)" = "$remote" ] || fail "another model: $remote instead of $(field theta)"
expect 0 priorboost evaluate --model remote.json --data full.csv --label y --json
expect 5 priorboost train --data features.csv --id id --family logistic --oracle unix:socket --token-file token
says "2000 of 2000 rows are spent"
expect 0 priorboost train --data features.csv --id id --family logistic --oracle unix:socket --token-file token \
    --rounds 4 --seed 9 --checkpoint checkpoint --json
[ "$(field theta)" = "$remote" ] || fail "the checkpoint gave another model"

# ---- the label holder again ----
kill -TERM $service
wait $service || fail "the service ended with $?"
[ ! -e socket ] || fail "the socket was left behind"
expect 0 priorboost oracle status --store store.db --json
expect 0 priorboost oracle audit --store store.db --json
finish
