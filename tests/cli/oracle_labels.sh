#!/usr/bin/env bash
# Stores of classes and of several label columns: how they are made and filled, and what is refused.
tests=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$tests/lib.sh"
init() { priorboost oracle init --store "$1.db" --min-bag 2 "${@:2}"; }
wrong() { # wrong TEXT OPTION...: refused with the text, and no store is left
    expect 2 init bad "${@:2}"
    says "$1"
    no_file bad.db
}

# ---- classes ----
wrong '--classes names 1 class' --no-noise --classes red
wrong 'empty name' --no-noise --classes red,,blue
wrong "class 'red' occurs twice" --no-noise --classes red,blue,red
wrong 'classes have none' --no-noise --classes red,green,blue --bounds 0,1
wrong 'contradict each other' --no-noise --classes red,green,blue --labels a=0:1
expect 0 init votes --epsilon 1 --classes 'red, dark green,3' --json
[ "$(field answer) $(field width)" = "classes 3" ] || fail "rules: $(cat stdout)"
printed '"classes":["red","dark green","3"]'
printf 'id,party\n1,red\n2,dark green\n3,3\n4,red\n' >votes.csv
expect 0 priorboost oracle import --store votes.db --data votes.csv --id id --label party
printf 'id,party\n5,red\n6,pink\n' >more.csv
expect 3 priorboost oracle import --store votes.db --data more.csv --id id --label party
says "more.csv:3: label 'party' is missing or none of the store's 3 classes (red,dark green,3)"
! grep -q pink stderr || fail "a label is told"
expect 2 priorboost oracle import --store votes.db --data more.csv --id id --label party --bad-label pink
says "none of the store's classes"
expect 2 priorboost oracle import --store votes.db --data more.csv --id id --label party --clamp --bad-label red
says 'cannot be moved to bounds'
expect 2 priorboost oracle import --store votes.db --data more.csv --id id --label party --positive red
says 'which it knows by name'
expect 0 priorboost oracle import --store votes.db --data more.csv --id id --label party --bad-label red
expect 0 priorboost oracle status --store votes.db
printed '3 classes (red, dark green, 3)'

# ---- two classes are labels 0 and 1 ----
expect 0 init two --epsilon 1 --classes no,yes --json
[ "$(field answer) $(field width) $(field step)" = "mean 1 1.0" ] || fail "rules: $(cat stdout)"
printf 'id,y\n1,yes\n2,no\n' >two.csv
expect 0 priorboost oracle import --store two.db --data two.csv --id id --label y

# ---- label columns ----
wrong 'has no bounds' --no-noise --labels a=0:1,b
wrong "'a=0' must be COL=LO:HI" --no-noise --labels a=0,b=0:1
wrong "must be COL=LO:HI" --no-noise --labels a=0:1:0
wrong 'one whole number for each of the 2 columns' --epsilon 1 --labels a=0:1,b=0:1 --shares 1
wrong 'one whole number for each of the 2 columns' --epsilon 1 --labels a=0:1,b=0:1 --shares 1,-2
wrong 'from 1 to 2^20' --epsilon 1 --labels a=0:1,b=0:1 --shares 1,0
wrong 'there is no --labels' --epsilon 1 --bounds 0,1 --shares 1,2
wrong 'bounds are [2, 1]' --epsilon 1 --labels a=0:1,b=2:1
expect 0 init care --epsilon 1.5 --bounds 0,10 --step 1 --labels a=-2:2:0.5,b --shares 2,1
printf 'id,a,b\n1,0.5,3\n2,-2,9\n' >care.csv
expect 2 priorboost oracle import --store care.db --data care.csv --id id --label a
says 'which are taken by name'
expect 0 priorboost oracle import --store care.db --data care.csv --id id
printf 'id,a,b\n3,0.5,3\n4,1,11\n' >late.csv
expect 3 priorboost oracle import --store care.db --data late.csv --id id
says "late.csv:3: 'b': the label is outside the bounds [0, 10]"
expect 0 priorboost oracle audit --store care.db

# ---- Gaussian noise ----
wrong "--delta is 'small'" --epsilon 1 --classes a,b,c --mechanism gaussian --delta small
wrong 'between 0 and 1' --epsilon 1 --classes a,b,c --mechanism gaussian
wrong 'between 0 and 1' --epsilon 1 --classes a,b,c --mechanism gaussian --delta 2
wrong 'the noise is Laplace' --epsilon 1 --classes a,b,c --delta 1e-6
wrong 'for --classes and --labels' --epsilon 1 --bounds 0,1 --mechanism gaussian --delta 1e-6
wrong "mechanism 'uniform' is unknown" --epsilon 1 --classes a,b,c --mechanism uniform
expect 0 init panel --epsilon 1 --classes a,b,c --mechanism gaussian --delta 1e-6
expect 0 priorboost oracle status --store panel.db
printed 'epsilon 1 at delta 1e-06 per row'

echo "$checks checks"
