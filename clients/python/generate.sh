#!/usr/bin/env bash
# Makes src/usher_client/_gen from the protocol. Needs .venv with grpcio-tools: test.sh makes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
../../.ci/tools/run buf generate
# Generated code imports from the root of all packages; here it is inside of this one.
find src/usher_client/_gen/usher -name '*.py*' -exec sed -i -E 's/^from usher\./from usher_client._gen.usher./' {} +
find src/usher_client/_gen -type d -exec touch {}/__init__.py \;
