#!/usr/bin/env bash
# Installs into an empty root and builds outside programs against it: with CMake and with pkg-config,
# in C and C++; only pboost_ symbols are exported.
set -euo pipefail
: "${BUILD:?build folder}" "${SOURCE:?source folder}"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

cmake --install "$BUILD" --prefix "$root/usr" >/dev/null
library=$(find "$root/usr" -name libpriorboost.so)
export PKG_CONFIG_PATH LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(dirname "$library")
PKG_CONFIG_PATH=$LD_LIBRARY_PATH/pkgconfig

cmake -S "$SOURCE/tests/install" -B "$root/cmake" -DEXAMPLES="$SOURCE/examples" \
    -DCMAKE_PREFIX_PATH="$root/usr" >/dev/null
cmake --build "$root/cmake" >/dev/null
for program in train own_model own_oracle headers; do "$root/cmake/$program"; done

flags=$(pkg-config --cflags --libs priorboost)
for source in "$SOURCE"/examples/*.c; do
    # shellcheck disable=SC2086
    cc -std=c11 -Wall -Wextra -Werror "$source" $flags -lm -o "$root/example"
    "$root/example" >/dev/null
done
for source in "$SOURCE"/examples/*.cpp; do
    # shellcheck disable=SC2086
    c++ -std=c++17 -Wall -Wextra -Werror "$source" $flags -o "$root/example"
    "$root/example" >/dev/null
done
# shellcheck disable=SC2086
c++ -std=c++11 -Wall -Wextra -Werror "$SOURCE/tests/install/headers.cpp" $flags -o "$root/headers"
"$root/headers"

strange=$(nm -D --defined-only "$library" | awk '{print $3}' | grep -v '^pboost_' || true)
[ -z "$strange" ] || { echo "exported, but not of this library: $strange"; exit 1; }
declared=$(grep -ohE '\bpboost_[a-z0-9_]+\(' "$root"/usr/include/priorboost/*.h | tr -d '(' | sort -u)
missing=$(comm -13 <(nm -D --defined-only "$library" | awk '{print $3}' | sort -u) <(echo "$declared"))
[ -z "$missing" ] || { echo "declared, but not exported: $missing"; exit 1; }

"$root/usr/bin/priorboost" --version
echo "installed, built against and run"
