#!/bin/sh
# Creates .venv with a Python that is new enough and installs requirements.txt into it.
# It is the only part of the set-up that cannot be written in the Python that it looks for.
set -eu

works='import sys; sys.exit(sys.version_info < (3, 11))'

# The person's own choice first (pyenv, CI), then what else there may be.
find_python() {
  for candidate in python3 python3.13 python3.12 python3.11 python; do
    if command -v "$candidate" >/dev/null 2>&1 && "$candidate" -c "$works" >/dev/null 2>&1; then
      echo "$candidate"
      return
    fi
  done
}

if ! .venv/bin/python -c "$works" 2>/dev/null; then
  python=$(find_python)
  if [ -z "$python" ]; then
    found=$(command -v python3 >/dev/null && python3 --version 2>&1 || echo none)
    echo "Python 3.11 or newer is needed; found: $found." >&2
    echo "Install it (for example: apt install python3 python3-venv, or brew install python) and try again." >&2
    exit 1
  fi
  echo "creating .venv with $("$python" --version)"
  rm -rf .venv
  if ! "$python" -m venv .venv; then
    rm -rf .venv
    echo "$("$python" --version) cannot create virtual environments: install its venv module" >&2
    echo "(for example: apt install python3-venv) and try again." >&2
    exit 1
  fi
fi

echo "installing requirements.txt into .venv"
if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt; then
  echo "pip could not install requirements.txt: it needs PyPI or a mirror of it; see its message above" >&2
  exit 1
fi
touch .venv/installed
