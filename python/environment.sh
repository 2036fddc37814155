#!/usr/bin/env bash
# Makes build/python/env, the one Python environment of all tests: the wheel of this package and what
# pyproject.toml names beside it, from PyPI.  Where PyPI cannot be reached, the environment shows
# Debian's NumPy, scikit-learn and pytest, without the wheel, and this script says what is left out.
# It ends with 0 in every case but a failure to build or install the package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
environment=build/python/env
stamp=$environment/made_for
mkdir -p build/python
exec 9>build/python/lock
flock 9 # two tests may want it at once

made_for() { { python3 -VV && cat pyproject.toml; } | sha256sum; }

make_from_pypi() {
    python3 -m venv --clear "$environment" &&
        "$environment/bin/pip" install -q --disable-pip-version-check --timeout 20 --retries 1 \
            'scikit-build-core>=0.10'
}

install_wheel() {
    rm -rf build/python/wheel
    "$environment/bin/pip" wheel -q --no-deps --no-build-isolation -w build/python/wheel .
    local wheel
    wheel=$(echo build/python/wheel/priorboost-*.whl)
    "$environment/bin/pip" install -q --disable-pip-version-check "${wheel}[dev,spark]"
    # The line above leaves a package of the same version as it is.
    "$environment/bin/pip" install -q --disable-pip-version-check --no-deps --force-reinstall "$wheel"
}

debian=(python3-numpy python3-scipy python3-sklearn python3-pytest python3-statsmodels)
on_debian() { /usr/bin/python3 -c 'import numpy, scipy, sklearn, pytest, statsmodels' 2>/dev/null; }

make_from_debian() {
    echo "== PyPI cannot be reached (build/python/pip.log): the tests run on Debian's NumPy and scikit-learn" >&2
    if ! on_debian && [ "$(id -u)" = 0 ]; then
        { apt-get update -qq || true
            DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${debian[@]}"
        } >build/python/apt.log 2>&1 || true
    fi
    /usr/bin/python3 -m venv --clear --without-pip --system-site-packages "$environment"
    if on_debian; then
        echo "== left out: the wheel, Spark, ruff, mypy, scikit-learn's own checks (from 1.6 on), and what the" \
            "skipped tests name" >&2
    else
        echo "== left out: all Python tests; they need ${debian[*]} (see build/python/apt.log)" >&2
    fi
}

if [ "$(cat "$stamp" 2>/dev/null)" != "$(made_for)" ] && ! make_from_pypi 2>build/python/pip.log; then
    make_from_debian
    exit
fi
install_wheel
made_for >"$stamp"
