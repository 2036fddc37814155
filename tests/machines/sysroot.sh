#!/usr/bin/env bash
# Fetches packages of a Debian release for an architecture, with all they depend on, and unpacks them into a
# folder that a compiler takes as --sysroot:
#
#     tests/machines/sysroot.sh RELEASE ARCHITECTURE FOLDER PACKAGE...
#
# It needs no root: apt reads the machine's own settings (mirror, proxy, certificates), but keeps its lists and
# packages inside the folder, and nothing is installed.  A folder that was made for the same arguments is kept.
set -euo pipefail
[ $# -ge 4 ] || { echo "usage: sysroot.sh RELEASE ARCHITECTURE FOLDER PACKAGE..." >&2; exit 2; }
release=$1 architecture=$2 folder=$3
packages=("${@:4}")

made_for="$release $architecture ${packages[*]}"
[ "$(cat "$folder/made_for" 2>/dev/null)" != "$made_for" ] || exit 0

# The machine's mirror of Debian itself.  Sources of security updates have other names of releases.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' |
    grep -E '/debian/?$' | sort -u | head -n 1) || true
mirror=${mirror:-http://deb.debian.org/debian}

rm -rf "$folder"
mkdir -p "$folder"/apt/{lists,archives}/partial
folder=$(cd "$folder" && pwd)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$folder/apt/sources.list"
: >"$folder/apt/status" # nothing counts as installed
apt=(apt-get -qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture"
    -o Dir::Etc::SourceList="$folder/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::State::Lists="$folder/apt/lists" -o Dir::State::Status="$folder/apt/status"
    -o Dir::Cache="$folder/apt" -o APT::Sandbox::User=root -o APT::Install-Recommends=false)
echo "== fetching packages of $release for $architecture into $folder" >&2
"${apt[@]}" -o APT::Update::Error-Mode=any update || { echo "sysroot: $mirror has no $release for $architecture" >&2; exit 1; }
"${apt[@]}" --yes --download-only install "${packages[@]}" >/dev/null

# /bin, /lib, /lib64 and /sbin are links to those in /usr, as on a machine; some packages name one, some the other.
for name in bin lib lib64 sbin; do
    mkdir -p "$folder/usr/$name"
    ln -s "usr/$name" "$folder/$name"
done
for file in "$folder"/apt/archives/*.deb; do dpkg-deb --fsys-tarfile "$file" | tar -x -C "$folder" --keep-directory-symlink --no-same-owner; done
# Links that begin at the root of the machine must stay inside the folder.
find "$folder/usr" -type l -lname '/*' -printf '%p %l\n' | while read -r link target; do
    ln -sfnr "$folder$target" "$link"
done
rm -rf "$folder/apt"
echo "$made_for" >"$folder/made_for"
