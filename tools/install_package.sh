#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Python package into the environment of the given python, if anything has changed since the last time.
#   HEADRACE_BUILD_DIR=build/release tools/install_package.sh PYTHON
set -eu
cd "$(dirname "$0")/.."
stamp=$HEADRACE_BUILD_DIR/installed
[ -d "$HEADRACE_BUILD_DIR/python/headrace" ] || { echo "no Python extension in $HEADRACE_BUILD_DIR: configure with HEADRACE_PYTHON" >&2; exit 1; }
changed=$(find "$HEADRACE_BUILD_DIR/lib" "$HEADRACE_BUILD_DIR/python" python pyproject.toml -newer "$stamp" -type f ! -name '*.pyc' 2>/dev/null | head -1)
[ -f "$stamp" ] && [ -z "$changed" ] && exit 0
"$1" -m pip install --disable-pip-version-check -q --no-build-isolation --no-deps --force-reinstall .
touch "$stamp"
