#!/usr/bin/env bash
# The README's figure: test loss against the least bag k that the label holder allows, for the
# paper's PriorBoost, for priorboost's default, and with all labels.
# usage: loss_by_k.sh DIR          (writes DIR/loss_by_k.svg; takes ten seconds)
set -euo pipefail
out=${1:-out}
priorboost=${PRIORBOOST:-build/bin/priorboost}
mkdir -p "$out"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$priorboost" generate --family logistic --rows 131072 --features 8 --seed 1 --out "$dir/data.csv" \
    --test-rows 65536 --test-out "$dir/test.csv"
train() { "$priorboost" train --data "$dir/data.csv" --label y --family logistic --test "$dir/test.csv" --quiet "$@"; }
runs=()
for k in 4 16 64 256; do
    train --min-bag $k --algorithm priorboost --rounds 32 --out "$dir/paper-$k.json"
    train --min-bag $k --out "$dir/planned-$k.json"
    runs+=("$dir/paper-$k.json" "$dir/planned-$k.json")
done
train --min-bag 1 --method paper --rounds 1 --out "$dir/all-labels.json"
"$priorboost" report "${runs[@]}" "$dir/all-labels.json" --out "$out/loss_by_k.svg"
