#!/usr/bin/env bash
# The C reference can be made without a warning, and knows every function of the headers.
set -euo pipefail
command -v doxygen >/dev/null || { echo "doxygen is not here"; exit 77; }
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{ cat docs/Doxyfile; echo "OUTPUT_DIRECTORY = $work"; } | doxygen - || { echo "doxygen complains"; exit 1; }
for header in core plan theory io; do
    for name in $(grep -ohE '\bpboost_[a-z0-9_]+\(' include/priorboost/$header.h | tr -d '(' | sort -u); do
        grep -qF ">$name</a>" "$work"/c/${header}_8h.html || { echo "$name is not in the reference"; exit 1; }
    done
done
echo "the reference is whole"
