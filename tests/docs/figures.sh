#!/usr/bin/env bash
# The figures of the documentation are what the program draws now, to within a pixel and a half: the
# last bits of a loss may depend on the machine's vector instructions.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$source/docs/figures/make.sh" "$work" 2>/dev/null
python3 - "$source/docs/figures" "$work" <<'END'
import pathlib
import re
import sys

kept, drawn = map(pathlib.Path, sys.argv[1:])
number = re.compile(r"-?\d+(?:\.\d+)?")
for path in sorted(drawn.glob("*.svg")):
    a, b = (kept / path.name).read_text(), path.read_text()
    same = number.sub("#", a) == number.sub("#", b)
    far = max((abs(float(x) - float(y)) for x, y in zip(number.findall(a), number.findall(b))), default=0)
    if not same or far > 1.5:
        sys.exit(f"docs/figures/{path.name} is not what is drawn now (off by {far}); ./dev figures")
    print(f"{path.name}: as drawn now")
END
# The example in Python.
python=$source/build/python/env/bin/python
if "$python" -c 'import numpy, sklearn' 2>/dev/null; then
    PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$source/python PRIORBOOST_LIBRARY=$LIBRARY "$python" "$source/examples/train.py"
else
    echo "there is no Python with NumPy and scikit-learn (python/environment.sh): examples/train.py was not run"
fi
