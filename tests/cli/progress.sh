#!/usr/bin/env bash
# The bar: on a terminal it names the stage, on a pipe and with --quiet it says nothing.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

priorboost generate --rows 20000 --features 5 --family logistic --ids --seed 1 --out small.csv >/dev/null 2>&1
priorboost train --data small.csv --id id --label y --family logistic --min-bag 50 --out m.json >/dev/null 2>&1

# on_terminal WORD... -- COMMAND...: the command, whose standard input comes slowly, shows each word.
cat >terminal.py <<'PYTHON'
import os, pty, select, subprocess, sys, threading, time
split = sys.argv.index("--")
words, command = sys.argv[1:split], sys.argv[split + 1:]
terminal = os.environ.get("STDERR", "terminal") == "terminal"
master, slave = pty.openpty()
error = slave if terminal else subprocess.PIPE
p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=error)
os.close(slave)

def feed():
    """The file in fifteen pieces, a fifth of a second apart."""
    data = open(os.environ["FEED"], "rb").read() if "FEED" in os.environ else b""
    try:
        for i in range(15):
            p.stdin.write(data[len(data) * i // 15 : len(data) * (i + 1) // 15])
            p.stdin.flush()
            if data:
                time.sleep(0.2)
        p.stdin.close()
    except BrokenPipeError:
        pass

thread = threading.Thread(target=feed)
thread.start()
seen = b""
source = master if terminal else p.stderr.fileno()
while True:
    try:
        piece = os.read(source, 65536)
    except OSError: # a terminal whose last writer is gone
        break
    if not piece:
        break
    seen += piece
thread.join()
code = p.wait()
text = seen.decode()
for word in words:
    if word.startswith("!"):
        if word[1:] in text:
            sys.exit(f"{command}: '{word[1:]}' is shown: {text!r}")
    elif word not in text:
        sys.exit(f"{command}: '{word}' is not shown: {text!r}")
if code != 0:
    sys.exit(f"{command}: exit code {code}: {text!r}")
PYTHON
on_terminal() { python3 terminal.py "$@" || fail "progress"; checks=$((checks + 1)); }

export FEED=small.csv
train=("$PRIORBOOST" train --data - --id id --label y --family logistic --min-bag 50)
on_terminal 'reading' $'\r\033[K' -- "${train[@]}"
on_terminal '!reading' $'!\033' -- "${train[@]}" --quiet
STDERR=pipe on_terminal '!reading' $'!\r' $'!\033' -- "${train[@]}"
on_terminal 'predicting' -- "$PRIORBOOST" predict --model m.json --data - --id id
on_terminal 'evaluating' -- "$PRIORBOOST" evaluate --model m.json --data -
priorboost oracle init --store o.db --min-bag 5 --bounds 0,1 --no-noise >/dev/null 2>&1
on_terminal 'reading' -- "$PRIORBOOST" oracle import --store o.db --data - --id id --label y
on_terminal 'reading' -- "$PRIORBOOST" plan --data - --label y --id id --family logistic --min-bag 5
seq 1 300000 >scores
FEED=scores on_terminal 'reading' -- "$PRIORBOOST" bags --min-bag 5
finish
