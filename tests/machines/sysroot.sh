#!/usr/bin/env bash
# Unpacks packages of a Debian release for an architecture, with all they depend on, into a folder that a compiler
# takes as --sysroot:
#
#     tests/machines/sysroot.sh RELEASE ARCHITECTURE FOLDER PACKAGE...
#
# It needs no root, and nothing is installed.  A folder that was made for the same arguments is kept.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"
[ $# -ge 4 ] || { echo "usage: sysroot.sh RELEASE ARCHITECTURE FOLDER PACKAGE..." >&2; exit 2; }
release=$1 architecture=$2 folder=$3
packages=("${@:4}")

made_for="$release $architecture ${packages[*]}"
[ "$(cat "$folder/made_for" 2>/dev/null)" != "$made_for" ] || exit 0

rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
echo "== fetching packages of $release for $architecture" >&2
apt_in "$folder/apt" "$release" "$architecture" --yes --download-only install "${packages[@]}" >/dev/null ||
    { echo "sysroot: these packages of $release for $architecture cannot be fetched: ${packages[*]}" >&2; exit 1; }

# /bin, /lib, /lib64 and /sbin are links to those in /usr, as on a machine; some packages name one, some the other.
for name in bin lib lib64 sbin; do
    mkdir -p "$folder/usr/$name"
    ln -s "usr/$name" "$folder/$name"
done
for file in "$folder"/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$file" | tar -x -C "$folder" --keep-directory-symlink --no-same-owner
done
# Links that begin at the root of the machine must stay inside the folder.
find "$folder/usr" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do
    ln -sfnr "$folder$target" "$link"
done
rm -rf "$folder/apt"
echo "$made_for" >"$folder/made_for"
