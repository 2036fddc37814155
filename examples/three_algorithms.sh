#!/usr/bin/env bash
# The paper's linear experiment in small: PriorBoost, PBPrefix and OneShot on the same data.
# usage: three_algorithms.sh DIR          (reads and writes DIR/data.csv, DIR/test.csv, DIR/*.json)
set -euo pipefail
dir=${1:-out}
priorboost=${PRIORBOOST:-build/bin/priorboost}
mkdir -p "$dir"

"$priorboost" generate --family linear --rows 262144 --features 8 --noise 0.1 --seed 1 \
    --out "$dir/data.csv" --test-rows 65536 --test-out "$dir/test.csv" --truth "$dir/truth.json"

final_test_loss() { sed -E 's/.*"test_loss":([-0-9.e+]+).*/\1/'; }

echo "Test mean squared error on 262144 rows; the noise floor is 0.01."
printf '%-8s %12s %12s %12s\n' "min_bag" priorboost pbprefix oneshot
for k in 1 4 16 64; do
    printf '%-8s' "$k"
    for algorithm in priorboost pbprefix oneshot; do
        rounds=64
        [ "$algorithm" = oneshot ] && rounds=1
        loss=$("$priorboost" train --data "$dir/data.csv" --label y --family linear --min-bag "$k" \
            --algorithm "$algorithm" --rounds "$rounds" --no-intercept --test "$dir/test.csv" \
            --out "$dir/$algorithm-$k.json" --json | final_test_loss)
        printf ' %12.5f' "$loss"
    done
    echo
done
echo "Models, data and truth are in $dir/."
