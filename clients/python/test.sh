#!/usr/bin/env bash
# Builds the wheel, installs it in an environment outside of the repository, as its users do, and runs the tests against a started
# service and an edge of it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export PATH="$root/node_modules/node/bin:$PATH"
work=$(mktemp -d)
source "$here/../processes.sh"

cd "$here"
if ! cmp -s requirements-dev.txt .venv/installed.txt; then
  python3 -m venv --clear .venv
  .venv/bin/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
  cp requirements-dev.txt .venv/installed.txt
fi
./generate.sh
git diff --exit-code -- src/usher_client/_gen
.venv/bin/python -m build --wheel --outdir "$work" . >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "$(ls "$work"/*.whl)[fastapi,django]" pytest httpx mypy
cp -r tests "$work/tests"
# As the README says it, in an empty folder beside a clone.
mkdir "$work/empty"
ln -s "$root" "$work/empty/usher"
(cd "$work/empty" && python3 -m venv fresh && fresh/bin/pip install --quiet --disable-pip-version-check ./usher/clients/python)
(cd "$work/empty" && fresh/bin/python -c 'import usher_client; usher_client.Usher("127.0.0.1:1").close()')
cd "$work"
"$work/venv/bin/mypy" --config-file "$here/pyproject.toml" -p usher_client
"$work/venv/bin/mypy" --config-file "$here/pyproject.toml" tests/test_rest.py

mkdir data
start service
USHER_KEY=$(cat "$work/data/internal-api-key")
USHER_TOKEN=$(DATA_DIR="$work/data" node "$root/src/main.ts" token admin@example.com)
USHER_URL=$(address service rest)
export USHER_KEY USHER_TOKEN USHER_URL
grpc=$(address service grpc)
USHER_GRPC=$grpc "$work/venv/bin/pytest" --quiet -p no:cacheprovider tests
start edge --upstream "$grpc"
USHER_GRPC=$(address edge grpc) "$work/venv/bin/pytest" --quiet -p no:cacheprovider --ignore tests/test_rest.py tests
