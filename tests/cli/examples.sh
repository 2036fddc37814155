#!/usr/bin/env bash
# The shell example: PriorBoost at the noise floor, OneShot far above it.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/tests/cli/lib.sh"
export PRIORBOOST
expect 0 "$root/examples/three_algorithms.sh" out
row() { awk -v k="$1" -v column="$2" '$1 == k { print $column }' stdout; }
within 0.0095 0.0105 "$(row 4 2)"
within 0.0095 0.0110 "$(row 16 2)"
within 1 100 "$(row 4 4)"
within 1 100 "$(row 16 4)"
finish
