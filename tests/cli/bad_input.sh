#!/usr/bin/env bash
# Wrong input: a clear message, the documented exit code, no half-written file.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

priorboost generate --family linear --rows 200 --features 2 --seed 1 --ids --out good.csv
train() { priorboost train --label y --min-bag 4 --out model.json "$@"; }
linear() { train --family linear "$@"; }
refuse() { # refuse CODE MESSAGE COMMAND...
    local code=$1 message=$2
    shift 2
    expect "$code" "$@"
    says "$message"
    [ ! -s stdout ] || fail "a failed command printed data"
    no_file model.json
}

# ---- files ----
refuse 3 'missing.csv' linear --data missing.csv
: >empty.csv
refuse 3 'empty.csv' linear --data empty.csv
echo 'x1,y' >header.csv
refuse 3 'header.csv' linear --data header.csv
printf 'x1,x2,y\n1,2,3\n4,5\n' >ragged.csv
refuse 3 'ragged.csv:3' linear --data ragged.csv
refuse 3 "$work" linear --data "$work"

# ---- cells ----
for cell in nan NaN inf -Infinity 1e999 abc; do
    printf 'x1,x2,y\n1,2,3\n4,%s,5\n1,1,1\n1,1,1\n' "$cell" >cell.csv
    refuse 3 'cell.csv:3' linear --data cell.csv
    says "'x2'"
    says "'$cell'"
    printf 'x1,x2,y\n1,2,3\n4,1,%s\n1,1,1\n1,1,1\n' "$cell" >cell.csv
    refuse 3 'cell.csv:3' linear --data cell.csv
    says "'y'"
done
for cell in '' NA; do
    printf 'x1,x2,y\n1,2,3\n4,%s,5\n1,1,1\n1,1,1\n' "$cell" >hole.csv
    refuse 3 'hole.csv:3' linear --data hole.csv
    says '--impute mean'
    expect 0 linear --data hole.csv --impute mean
    rm model.json
done
printf 'id,x1,y\n1,2,3\n2,1,1\n1,3,3\n4,1,1\n5,2,2\n' >repeat.csv
refuse 3 'repeat.csv:4' linear --data repeat.csv --id id
says "line 2"

# ---- sizes ----
refuse 3 'min_bag is 201, but' train --family linear --data good.csv --min-bag 201
refuse 3 'at most 50 rounds' linear --data good.csv --rounds 51
expect 0 linear --data good.csv --rounds 50
rm model.json
refuse 3 'at most 1 rounds' linear --data good.csv --bag-size 101 --rounds 2

# ---- labels ----
refuse 3 "good.csv:2: label 'y' is" linear --data good.csv --bounds -0.001,0.001
says "it must be within --bounds -0.001,0.001"
expect 0 linear --data good.csv --bounds -0.001,0.001 --clamp
rm model.json
refuse 3 'logistic labels must be 0 or 1' train --family logistic --data good.csv
refuse 3 'poisson labels must be' train --family poisson --data good.csv
printf 'x1,y\n1,dead\n2,alive\n3,dead\n4,alive\n5,dead\n' >text.csv
refuse 3 "label 'y' is text ('dead', 'alive'), but logistic needs numbers; say with --positive VALUE" \
    train --family logistic --data text.csv
refuse 3 "'maybe'" train --family logistic --data text.csv --positive maybe
refuse 3 'is text' linear --data text.csv

# ---- options ----
refuse 2 'epsilon is' linear --data good.csv --epsilon 0 --bounds -9,9
refuse 2 'epsilon is' linear --data good.csv --epsilon -1 --bounds -9,9
refuse 2 'epsilon is' linear --data good.csv --epsilon x --bounds -9,9
refuse 2 '--epsilon needs --bounds' linear --data good.csv --epsilon 1
refuse 2 '--bounds is' linear --data good.csv --bounds 3,1
refuse 2 '--bounds is' linear --data good.csv --bounds 1
refuse 2 '--step' linear --data good.csv --step 1
refuse 2 '--round is for the logistic' linear --data good.csv --round
refuse 2 "family 'cubic' is unknown" train --family cubic --data good.csv
refuse 2 "algorithm 'x' is unknown" linear --data good.csv --algorithm x
refuse 2 "estimator 'x' is unknown" linear --data good.csv --estimator x
refuse 2 "bags 'x' is unknown" linear --data good.csv --bags x
refuse 2 "schedule 'x' is unknown" linear --data good.csv --schedule x
refuse 2 'oneshot has one round' linear --data good.csv --algorithm oneshot --rounds 2
refuse 2 '--min-bag is' linear --data good.csv --min-bag 0
refuse 2 '--min-bag is' linear --data good.csv --min-bag -3
refuse 2 '--bag-size is 3' linear --data good.csv --bag-size 3
refuse 2 '--l2 is' linear --data good.csv --l2 -1
refuse 2 '--l2 needs a value' linear --data good.csv --l2
refuse 2 "'--nonsense' is unknown" linear --data good.csv --nonsense
refuse 2 "'good.csv' is not expected" linear good.csv
refuse 2 '--family is required' train --data good.csv
refuse 2 '--min-bag is required' priorboost train --family linear --label y --data good.csv
refuse 3 "'z'" priorboost train --family linear --label z --min-bag 4 --data good.csv
refuse 3 "'z'" linear --data good.csv --exclude z
refuse 2 "command 'trian' is unknown" priorboost trian
expect 2 priorboost
says 'Commands:'

# ---- output ----
expect 1 linear --data good.csv --out nowhere/model.json
says 'nowhere/model.json'
expect 1 linear --data good.csv --out /dev/full
says '/dev/full'
expect 1 bash -c '"$0" train --family linear --label y --min-bag 4 --data good.csv --json >/dev/full' "$PRIORBOOST"
says 'standard output'
expect 1 priorboost generate --family linear --rows 9 --features 1 --seed 1 --out nowhere/d.csv
expect 1 priorboost generate --family linear --rows 9000 --features 9 --seed 1 --out /dev/full
expect 1 priorboost bags --min-bag 2 --out /dev/full <(seq 9)
if unshare -rm true 2>/dev/null; then
    mkdir disk
    expect 1 unshare -rm bash -c 'mount -t tmpfs -o size=64k full disk && {
        "$0" generate --family linear --rows 90000 --features 9 --seed 1 --out disk/d.csv
        code=$?; ls -A disk | grep -q . && { echo "left behind: $(ls -A disk)" >&2; exit 99; }; exit $code; }' "$PRIORBOOST"
    says 'No space left'
else
    echo "left out: a full disk, because this system lets no user mount one"
fi

# ---- models ----
expect 0 linear --data good.csv
printf 'x1,id\n1,2\n' >short.csv
expect 3 priorboost predict --model model.json --data short.csv --out p.csv
says "'x2'"
no_file p.csv
printf 'c,y\na,1\nb,2\na,1\nb,3\n' >category.csv
expect 0 priorboost train --family linear --label y --min-bag 2 --data category.csv --out category.json
printf 'c\na\nz\n' >unseen.csv
expect 0 priorboost predict --model category.json --data unseen.csv
says "1 cell has a category that was not in training"
says "'z' in column 'c', unseen.csv:3, which counts as 'a'"
expect 0 priorboost train --family linear --label y --min-bag 2 --data category.csv --unseen error \
    --out category.json
expect 3 priorboost predict --model category.json --data unseen.csv --out p.csv
says 'unseen.csv:3'
says "'z'"
no_file p.csv
sed 's/"version": *1/"version": 99/' model.json >future.json
expect 3 priorboost predict --model future.json --data good.csv
says '99'
# weights that are too large for the features
huge() { tr -d '\n' <"$2" | sed -E 's/("theta": *)\[[^]]*\]/\1['"$1"']/'; }
huge '1e300, 1e300' model.json >huge.json
printf 'x1,x2,id,y\n1,2,1,3\n1e10,1e10,2,3\n' >far.csv
expect 3 priorboost predict --model huge.json --data far.csv --out p.csv
says 'far.csv:3: the model predicts inf'
no_file p.csv
expect 0 priorboost evaluate --model huge.json --data far.csv
says 'the loss is infinite'
huge '1e300, -1e300' model.json >huge.json
expect 3 priorboost predict --model huge.json --data far.csv
says 'weights are too large for these features'
for family in logistic poisson; do
    printf 'x1,x2,y\n1,2,1\n2,1,0\n3,5,1\n4,1,0\n' >small.csv
    expect 0 priorboost train --family $family --label y --min-bag 2 --data small.csv --out $family.json
    huge '1e300, 1e300' $family.json >huge.json
    expect 0 priorboost evaluate --model huge.json --data <(printf 'x1,x2,y\n-1e10,0,0\n-1e10,0,0\n')
    huge '1e999, 1' $family.json >huge.json
    expect 3 priorboost evaluate --model huge.json --data small.csv
    says 'huge.json'
done

head -c 100 model.json >cut.json
expect 3 priorboost evaluate --model cut.json --data good.csv
says 'cut.json'
expect 3 priorboost predict --model good.csv --data good.csv
says 'good.csv'

# ---- bags ----
expect 3 priorboost bags --min-bag 40 <(seq 25)
says '40'
says '25'
expect 3 priorboost bags --min-bag 2 <(printf '1\nx\n')
says ":2: score is 'x'"
expect 3 priorboost bags --min-bag 1 <(printf '1\n\n2\n')
expect 3 priorboost bags --min-bag 1 <(printf '1\nnan\n')
expect 3 priorboost bags --min-bag 1 <(printf 'inf\n')
expect 2 priorboost bags <(seq 9)
expect 2 priorboost bags --min-bag 2 --strategy worst <(seq 9)
says 'worst'
finish
