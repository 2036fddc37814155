#!/usr/bin/env bash
# Draws the figures of the documentation again, with the program's own charts: ./dev figures
# usage: make.sh [DIR]; PRIORBOOST is the program.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${1:-$source/docs/figures}
export PRIORBOOST=${PRIORBOOST:-$source/build/bin/priorboost}
"$source/examples/loss_by_k.sh" "$out"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$PRIORBOOST" generate --family linear --rows 32768 --features 4 --seed 1 --out "$dir/data.csv"
"$PRIORBOOST" plan --data "$dir/data.csv" --label y --family linear --min-bag 16 --epsilon 0.5 --bounds=-15,15 \
    --out "$out/plan_noise.svg" --quiet
