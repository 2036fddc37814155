#!/usr/bin/env bash
# Runs the tests of the Python package in the environment that environment.sh makes: on the wheel, or,
# where PyPI cannot be reached, on python/ and the library in build/.  Both need build/bin/priorboost
# to compare with.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PRIORBOOST=${PRIORBOOST:-$PWD/build/bin/priorboost}
bin=$PWD/build/python/env/bin
python/environment.sh
unset PYTHONPATH PRIORBOOST_LIBRARY
if [ -x "$bin/pip" ]; then
    "$bin/ruff" check .
    "$bin/ruff" format --check --quiet .
    "$bin/mypy"
    java -version >/dev/null 2>&1 || echo "== left out: the tests on Spark; there is no Java" >&2
elif "$bin/python" -c 'import numpy, sklearn, pytest' 2>/dev/null; then
    export PRIORBOOST_LIBRARY=$PWD/build/lib/libpriorboost.so PYTHONPATH=$PWD/python
else
    exit 0 # environment.sh has said what is left out
fi
exec "$bin/python" -m pytest -q "$@"
