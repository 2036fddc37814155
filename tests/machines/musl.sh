#!/usr/bin/env bash
# Builds the library and its tests with musl instead of glibc, in build/musl, and runs them.  Debian has musl alone, so
# jansson, zlib, zstd and cmocka are built from Debian's sources first.  The program is left out: the service would need
# libpq, GnuTLS, libcurl and libmicrohttpd for musl too.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tests/machines/apt.sh
folder=$PWD/build/musl
prefix=$folder/prefix
jobs=$(nproc)
export CC=musl-gcc PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig

with_cmake() { # FOLDER OPTION...
    cmake -S "$1" -B built -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DCMAKE_INSTALL_LIBDIR=lib "${@:2}" && cmake --build built -j "$jobs" --target install
}

# How each source package is built and installed.
declare -A needs=(
    [jansson]='with_cmake . -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON'
    [zlib]='./configure --prefix="$prefix" && make -j "$jobs" install'
    [libzstd]='with_cmake build/cmake -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_TESTS=OFF'
    [cmocka]='with_cmake . -DWITH_EXAMPLES=OFF'
)

build_need() {
    local package=$1 log=$folder/$1.log release
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    echo "== building $package with musl" >&2
    rm -rf "$folder/sources/$package"
    mkdir -p "$folder/sources/$package"
    (
        cd "$folder/sources/$package"
        apt_in "$folder/apt" "$release" "$(dpkg --print-architecture)" source "$package"
        cd -- */
        eval "${needs[$package]}"
    ) >"$log" 2>&1 || { cat "$log" >&2; echo "musl: $package cannot be built; see $log" >&2; exit 1; }
    touch "$prefix/$package.built"
}

mkdir -p "$prefix"
for package in "${!needs[@]}"; do
    [ -e "$prefix/$package.built" ] || build_need "$package"
done
cmake --preset release -B "$folder/build" -DPBOOST_PROGRAM=OFF >/dev/null
cmake --build "$folder/build" -j "$jobs"
ctest --test-dir "$folder/build" --output-on-failure -j "$jobs" "$@"
