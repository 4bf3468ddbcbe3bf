#!/usr/bin/env bash
# Puts the Python programs of test/openapi/requirements.txt into a folder of their own, outside of the checkout, where the tests
# find them (test/support/tools.ts). Does nothing when they are there. Fails within minutes where there is no Python or no
# way to its packages; the tests that need them are left out then.
set -euo pipefail
requirements="$(cd "$(dirname "$0")/.." && pwd)/test/openapi/requirements.txt"
folder="${TESSERA_PYTHON_TOOLS:-$HOME/.cache/tessera-python-tools}"

cmp -s "$requirements" "$folder/installed.txt" && exit 0
command -v python3 > /dev/null || { echo "no python3: the tests go on without what runs on it"; exit 1; }
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
timeout 60 python3 -m venv "$folder" > /dev/null || { echo "python3 cannot make a virtual environment (python3-venv)"; exit 1; }
timeout 240 "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --only-binary :all: \
  --requirement "$requirements" || { echo "the Python tools cannot be installed; the tests go on without them"; exit 1; }
# Last: what is here is whole.
cp "$requirements" "$folder/installed.txt"
