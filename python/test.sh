#!/usr/bin/env bash
# Builds the wheel, installs it into a clean environment and runs the tests of the Python package
# there.  Where PyPI cannot be reached, the tests run on Debian's NumPy and scikit-learn against the
# library in build/, and say what they leave out.  Both need build/bin/priorboost to compare with.
# Where Debian's packages cannot be had either, it says so and is content.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PRIORBOOST=${PRIORBOOST:-$PWD/build/bin/priorboost}
environment=build/python/env

on_pypi() {
    python3 -m venv --clear "$environment" &&
        "$environment/bin/pip" install -q --disable-pip-version-check --timeout 20 --retries 1 \
            'scikit-build-core>=0.10' 1>&2
}

if on_pypi; then
    rm -rf build/python/wheel
    "$environment/bin/pip" wheel -q --no-deps --no-build-isolation -w build/python/wheel .
    "$environment/bin/pip" uninstall -q -y scikit-build-core
    "$environment/bin/pip" install -q --disable-pip-version-check \
        "$(echo build/python/wheel/priorboost-*.whl)[dev,spark]"
    unset PYTHONPATH PRIORBOOST_LIBRARY
    "$environment/bin/ruff" check .
    "$environment/bin/ruff" format --check --quiet .
    "$environment/bin/mypy"
    java -version >/dev/null 2>&1 || echo "== left out: the tests on Spark; there is no Java" >&2
    exec "$environment/bin/python" -m pytest -q "$@"
fi

# ---- Without PyPI --------------------------------------------------------------------------------

debian=(python3-numpy python3-scipy python3-sklearn python3-pytest)
on_debian() { /usr/bin/python3 -c 'import numpy, scipy, sklearn, pytest' 2>/dev/null; }

mkdir -p build/python
echo "== PyPI cannot be reached: the tests run on Debian's NumPy and scikit-learn" >&2
if ! on_debian && [ "$(id -u)" = 0 ]; then
    { apt-get update -qq || true
        DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${debian[@]}"
    } >build/python/apt.log 2>&1 || true
fi
if ! on_debian; then
    echo "== left out: all Python tests; they need ${debian[*]} (see build/python/apt.log)" >&2
    exit 0
fi
echo "== left out: the wheel, Spark, ruff, mypy, scikit-learn's own checks (from 1.6 on), and what the" \
    "skipped tests below name" >&2
export PRIORBOOST_LIBRARY=$PWD/build/lib/libpriorboost.so PYTHONPATH=$PWD/python
exec /usr/bin/python3 -m pytest -q -p no:cacheprovider "$@"
