#!/usr/bin/env bash
# The library alone, as the Python package builds it from its sdist, needs jansson, zlib and zstd and nothing of the
# service; and it takes from other libraries only the functions in tests/install/imports.txt.  Those are in C17 or
# POSIX, but for lgamma_r, which glibc, musl, macOS and the BSDs have, and those that base/system.c uses on Linux alone.
set -euo pipefail
: "${BUILD:?build folder}" "${SOURCE:?source folder}"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

for name in jansson zlib libzstd; do
    ln -s "$(pkg-config --variable=pcfiledir "$name")/$name.pc" "$root"
done
PKG_CONFIG_LIBDIR=$root cmake -S "$SOURCE" -B "$root/build" -G Ninja -DPBOOST_PROGRAM=OFF -DPBOOST_TESTS=OFF >/dev/null
ninja -C "$root/build" -t commands priorboost >"$root/steps"
grep -q 'libpriorboost' "$root/steps"
if grep -E 'src/(ledger|net|server|cli)/' "$root/steps"; then
    echo "the library alone builds files of the program"
    exit 1
fi

library=$(readlink -f "$BUILD/lib/libpriorboost.so")
readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p' | LC_ALL=C sort >"$root/needed"
if grep -vxE 'libc|libm|libjansson|libz|libzstd|libpthread|ld-linux-.*' "$root/needed"; then
    echo "the library needs more than jansson, zlib and zstd"
    exit 1
fi
nm -D --undefined-only "$library" | awk '$1 == "U" { sub(/@.*/, "", $2); print $2 }' | LC_ALL=C sort -u >"$root/imports"
LC_ALL=C comm -13 "$SOURCE/tests/install/imports.txt" "$root/imports" >"$root/new"
if [ -s "$root/new" ]; then
    cat "$root/new"
    echo "is not in tests/install/imports.txt: use a function of C17 or POSIX, or put the call into base/system.c"
    exit 1
fi
echo "the library needs nothing of the service"
