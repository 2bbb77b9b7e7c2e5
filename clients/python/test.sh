#!/usr/bin/env bash
# Builds the wheel, installs it in an environment outside of the repository, as its users do, and runs the tests against a started service.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export PATH="$root/node_modules/node/bin:$root/node_modules/.bin:$PATH"
work=$(mktemp -d)
service=
trap '[ -z "$service" ] || kill "$service" 2>/dev/null || true; [ -z "$service" ] || wait "$service" 2>/dev/null || true; rm -rf "$work"' EXIT

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
cd "$work"
"$work/venv/bin/mypy" --config-file "$here/pyproject.toml" -p usher_client

mkdir data
HTTP_PORT=0 GRPC_PORT=0 DATA_DIR="$work/data" node "$root/src/main.ts" serve >"$work/service.log" 2>&1 &
service=$!
for _ in $(seq 300); do
  grpc=$(sed -n 's/.*"grpc":"\([^"]*\)".*"msg":"ready".*/\1/p' "$work/service.log")
  [ -z "$grpc" ] || break
  kill -0 "$service" || { cat "$work/service.log" >&2; exit 1; }
  sleep 0.2
done
USHER_GRPC=$grpc USHER_KEY=$(cat "$work/data/internal-api-key") "$work/venv/bin/pytest" --quiet -p no:cacheprovider tests
