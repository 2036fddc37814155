#!/usr/bin/env bash
# The documented way to add a family works: the patch fits the source, is short, and what it adds
# trains.  Built without the vector levels and without optimisation, which takes seconds.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source"
cp -r --parents include src/core src/idiom src/cli/cli.h "$work"
cd "$work"
patch -s -p1 <"$source/examples/new_family.patch" || { echo "examples/new_family.patch does not fit the source"; exit 1; }
lines=$(grep -c '^+[^+]' "$source/examples/new_family.patch")
[ "$lines" -le 60 ] || { echo "the patch adds $lines lines"; exit 1; }
echo '#define PBOOST_VERSION "patched"' >version.h
mkdir objects
printf '%s\n' $(find src/core -name "*.c") "$source/tests/docs/new_family.c" |
    xargs -P 2 -I FILE sh -c 'cc -c -std=c17 -O0 -w -Wno-psabi -D_DEFAULT_SOURCE -D_POSIX_C_SOURCE=200809L -DSIMD_SUFFIX=plain \
        -I. -Iinclude -Isrc/idiom -Isrc/core FILE -o objects/$(echo FILE | tr / _).o'
cc objects/*.o -lm -lpthread -o new_family
./new_family
echo "a family in $lines lines"
