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

# Each header can be included alone.
for header in "$root"/usr/include/priorboost/*.h; do
    # shellcheck disable=SC2086
    echo "#include <priorboost/$(basename "$header")>" | cc -std=c11 -Wall -Wextra -Werror -fsyntax-only $flags -xc -
done

# The library exports the functions of tests/install/symbols.txt and nothing else, and the headers
# declare the same.  A function that is added or removed changes that file.
nm -D --defined-only "$library" | awk '{print $3}' | LC_ALL=C sort -u >"$root/exported"
grep -ohE '\bpboost_[a-z0-9_]+\(' "$root"/usr/include/priorboost/*.h | tr -d '(' | LC_ALL=C sort -u >"$root/declared"
for found in exported declared; do
    diff "$SOURCE/tests/install/symbols.txt" "$root/$found" ||
        { echo "< is in tests/install/symbols.txt alone, > is $found alone"; exit 1; }
done

"$root/usr/bin/priorboost" --version
echo "installed, built against and run"
