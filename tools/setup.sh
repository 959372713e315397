#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sets up a machine: tools/setup.sh packages GROUP...   installs the missing Debian packages of those groups of tools/packages.txt
#                    tools/setup.sh venv DIR [PYTHON]   makes the virtual environment DIR with requirements.txt
#                    tools/setup.sh tensorflow DIR [PYTHON]   makes DIR with TensorFlow, for comparison
# As root it installs; through sudo if that works without a question or there is a terminal to ask on; else it prints the command.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)

missing_packages() {
  for group in "$@"; do awk -v g="$group" '$1 == g { print $2 }' "$here/tools/packages.txt"; done | while read -r package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$package"
  done
}

install_packages() {
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  echo "setup: installing $missing"
  export DEBIAN_FRONTEND=noninteractive
  command="apt-get install -y --no-install-recommends $missing"
  if [ "$(id -u)" = 0 ]; then as_root=""
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then as_root="sudo"
  else
    echo "setup: not root and no sudo; type this as root, then run make again:" >&2
    echo "  apt-get update && $command" >&2
    exit 1
  fi
  # The package lists of a fresh container are empty: install fails at once, and again only if updating does not help.
  # shellcheck disable=SC2086
  $as_root $command </dev/null >/dev/null 2>&1 || { $as_root apt-get update -q </dev/null && $as_root $command </dev/null; }
}

has_headers() {
  "$1" -c 'import os, sysconfig, venv, ensurepip
raise SystemExit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))' 2>/dev/null
}

make_venv() {
  dir=$1 python=${2:-python3}
  if ! has_headers "$python"; then
    if [ "$python" = python3 ] && has_headers /usr/bin/python3; then
      echo "setup: $(command -v python3) has no C headers or no venv module; taking /usr/bin/python3"
      python=/usr/bin/python3
    else
      echo "setup: $python has no C headers (Python.h) or no venv module: install them, or name another with PYTHON=" >&2
      exit 1
    fi
  fi
  stamp=$(cksum <"$here/requirements.txt"; "$python" -c 'import sys; print(sys.version, sys.base_prefix)')
  [ -x "$dir/bin/python" ] && [ "$(cat "$dir/ready" 2>/dev/null)" = "$stamp" ] && return 0
  echo "setup: virtual environment $dir ($("$python" --version))"
  "$python" -m venv --clear "$dir"
  "$dir/bin/python" -m pip install --disable-pip-version-check -q --retries 5 -r "$here/requirements.txt"
  printf '%s\n' "$stamp" >"$dir/ready"
}

# TensorFlow, for comparison alone (1.3 GB): in a virtual environment of its own, outside the tree.
make_tensorflow() {
  dir=$1
  "$dir/bin/python" -c 'import tensorflow' >/dev/null 2>&1 && return 0
  echo "setup: installing TensorFlow into $dir"
  "${2:-python3}" -m venv --clear "$dir"
  "$dir/bin/python" -m pip install --disable-pip-version-check -q --retries 5 tensorflow-cpu==2.21.*
}

what=${1:-}; [ $# -gt 0 ] && shift
case $what in
  packages)
    if command -v dpkg-query >/dev/null; then install_packages "$@"
    else echo "setup: no dpkg here; needed (under Debian's names):" $(awk '/^(build|test)/ { print $2 }' "$here/tools/packages.txt")
    fi ;;
  venv) make_venv "$@" ;;
  tensorflow) make_tensorflow "$@" ;;
  *) sed -n '3,6p' "$0"; exit 2 ;;
esac
