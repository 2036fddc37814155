#!/usr/bin/env bash
# The systemd unit: systemd reads it without complaint and finds the service well shut in.  It is not
# started: that takes systemd as the first process.
set -euo pipefail
: "${PRIORBOOST:?path of the priorboost program}" "${SOURCE:?the source tree}"
if ! command -v systemd-analyze >/dev/null; then
    echo "systemd-analyze is not installed: skipped" >&2
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unit=$work/priorboost-oracle.service
# The program is not installed here.
sed "s|/usr/bin/priorboost|$PRIORBOOST|" "$SOURCE/packaging/priorboost-oracle.service" >"$unit"
grep -q "ExecStart=$PRIORBOOST serve " "$unit"
systemd-analyze verify --man=no "$unit" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
if grep -F priorboost-oracle "$work/said"; then # what it says about other units is not ours
    exit 1
fi
# 0 is no exposure, 10 is all; at most 2.0 here.
systemd-analyze security --offline=yes --threshold=20 --no-pager "$unit" >"$work/said" 2>&1 ||
    { grep -a '✗' "$work/said"; tail -n 1 "$work/said"; exit 1; }
tail -n 1 "$work/said"
# The program takes the options that the unit gives.
options=$("$PRIORBOOST" serve --help)
for option in $(grep -A 1 '^ExecStart=' "$unit" | grep -oE -- '--[a-z][a-z-]*'); do
    grep -qF -- " $option " <<<"$options" || { echo "serve has no $option"; exit 1; }
done
