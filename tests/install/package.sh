#!/usr/bin/env bash
# Makes the packages, unpacks them into an empty root and uses what is there.
set -euo pipefail
: "${BUILD:?build folder}" "${SOURCE:?source folder}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
cd "$work"
export SOURCE_DATE_EPOCH=1700000000

# The version stands in one place; the changelog's newest dated section is about it.
version=$(sed -n 's/^project(priorboost VERSION \([0-9.]*\).*/\1/p' "$SOURCE/CMakeLists.txt")
grep -m 1 '^## [0-9]' "$SOURCE/CHANGELOG.md" | grep -q "^## $version\b" || fail "CHANGELOG.md is not about $version"

cpack --config "$BUILD/CPackConfig.cmake" -B "$work/packages" >log 2>&1 || { cat log; exit 1; }
cd packages
for package in "priorboost_$version-1" "libpriorboost0_$version-1" "libpriorboost-dev_$version-1"; do
    dpkg -x "$package"_*.deb "$work/root" || fail "no package $package"
    grep -q "$version" <(dpkg -I "$package"_*.deb) || fail "$package has another version"
done
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning ./*.deb >"$work/lintian" 2>&1 || { cat "$work/lintian"; exit 1; }
else
    echo "lintian is not here: the packages were not checked by it"
fi

# ---- the root of the Debian packages ----
dpkg -e "libpriorboost0_$version-1"_*.deb "$work/control"
grep -qx "libpriorboost 0 libpriorboost0 (>= $version-1)" "$work/control/shlibs" || fail "what users of the library depend on"
grep -q ldconfig "$work/control/triggers" || fail "nobody runs ldconfig"
usr=$work/root/usr
[ "$("$usr/bin/priorboost" --version)" = "priorboost $version" ] || fail "the version of the program"
for command in $("$usr/bin/priorboost" --help | sed -n 's/^  \([a-z]*\)  *.*/\1/p'); do
    zcat "$usr/share/man/man1/priorboost-$command.1.gz" | grep -q "^.SH SYNOPSIS" || fail "man page of $command"
done
for file in bash-completion/completions/priorboost zsh/vendor-completions/_priorboost \
    fish/vendor_completions.d/priorboost.fish doc/priorboost/copyright doc/priorboost/changelog.Debian.gz \
    doc/priorboost/README.md doc/priorboost/examples/priorboost-oracle.service; do
    [ -s "$usr/share/$file" ] || fail "$file is missing"
done
[ ! -e "$usr/include/priorboost/ledger.h" ] || fail "the ledger's header is not for others"
priorboost() { "$usr/bin/priorboost" "$@"; }
priorboost generate --family linear --rows 4000 --features 3 --seed 1 --out data.csv
priorboost train --data data.csv --label y --family linear --min-bag 8 --out model.json --quiet
priorboost evaluate --model model.json --data data.csv --json | grep -q '"rows":4000' || fail "evaluate"
cc "$SOURCE/examples/train.c" -I"$usr/include" -L"$usr/lib" -lpriorboost -lm -o train
LD_LIBRARY_PATH=$usr/lib ./train >/dev/null || fail "the example against the packaged library"

# ---- the archive ----
tar xzf priorboost-"$version"-linux-*.tar.gz
[ "$(./priorboost-"$version"-linux-*/bin/priorboost --version)" = "priorboost $version" ] || fail "the archive"
[ -s priorboost-"$version"-linux-*/include/priorboost/core.h ] || fail "the archive's headers"

# ---- the same bytes again ----
sha256sum ./*.deb ./*.tar.gz >"$work/sums"
cpack --config "$BUILD/CPackConfig.cmake" -B "$work/packages" >/dev/null 2>&1
sha256sum --quiet -c "$work/sums" || fail "the same build made other packages"
echo "packaged, unpacked and run"
