# Shared by the command-line tests: each runs in a new empty folder with $PRIORBOOST set.
set -euo pipefail
: "${PRIORBOOST:?path of the priorboost program}"
priorboost() { "$PRIORBOOST" "$@"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

checks=0
fail() {
    echo "FAILED: $*" >&2
    [ -s stderr ] && { echo "--- stderr" >&2; cat stderr >&2; }
    [ -s stdout ] && { echo "--- stdout" >&2; head -n 20 stdout >&2; }
    exit 1
}

# expect CODE COMMAND...: runs it, keeping its output in the files stdout and stderr.
expect() {
    local want=$1 got=0
    shift
    "$@" >stdout 2>stderr </dev/null || got=$?
    [ "$got" -eq "$want" ] || fail "exit code $got instead of $want: $*"
    checks=$((checks + 1))
}

# says TEXT: the last command's message contains it; printed TEXT: its output does.
says() { grep -qF -- "$1" stderr || fail "stderr does not say: $1"; }
printed() { grep -qF -- "$1" stdout || fail "stdout does not say: $1"; }

# no_file PATH...: nothing of that name, nor a leftover beside it.
no_file() {
    local path
    for path in "$@"; do
        [ ! -e "$path" ] || fail "$path was left behind"
        [ -z "$(find "$(dirname "$path")" -maxdepth 1 -name "*$(basename "$path")*")" ] ||
            fail "something of $path was left behind: $(ls -a "$(dirname "$path")")"
    done
}

# field NAME: a number or string of the JSON object in stdout.
field() { python3 -c 'import json,sys; v=json.load(open("stdout"))
for k in sys.argv[1].split("."): v = v[int(k) if k.lstrip("-").isdigit() else k]
print(json.dumps(v) if isinstance(v,(list,dict,bool)) or v is None else v)' "$1"; }

# within LOW HIGH VALUE
within() { python3 -c 'import sys; l,h,v=map(float,sys.argv[1:]); sys.exit(not l<=v<=h)' "$@" ||
    fail "$3 is not between $1 and $2"; checks=$((checks + 1)); }

# serve_store: serves store.db on the socket unix:socket until the test ends; $service is its process.
serve_store() {
    "$PRIORBOOST" serve --store store.db --listen unix:socket >ready 2>log &
    service=$!
    trap 'kill $service 2>/dev/null || true; rm -rf "$work"' EXIT
    for _ in $(seq 600); do
        grep -q listening ready && break
        sleep 0.1
    done
    grep -qx 'listening on unix:socket' ready || fail "the service does not listen: $(cat log)"
}

finish() { echo "$checks checks passed"; }
