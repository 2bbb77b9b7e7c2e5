#!/usr/bin/env bash
# Installs the packed client in an empty folder outside of the repository, as its users do, type-checks and builds an application
# with it, with the newest React and with the oldest one that it takes, and renders that application on a server.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export PATH="$root/node_modules/node/bin:$PATH"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# As the README says it, beside a clone: the package that is packed is built by that.
rm -rf "$here/dist"
ln -s "$root" "$work/usher"
(cd "$work" && npm pack --silent ./usher/clients/react >/dev/null)

for react in 19 18; do
  mkdir "$work/react-$react"
  cd "$work/react-$react"
  cp "$here/test/"* .
  echo '{"type": "module", "private": true}' >package.json
  npm install --silent --no-audit --no-fund "$work"/usher-service-react-*.tgz \
    "react@$react" "react-dom@$react" "@types/react@$react" "@types/react-dom@$react"
  node "$root/node_modules/typescript/bin/tsc" -p .
  node "$root/node_modules/vite/bin/vite.js" build --logLevel error
  node "$root/node_modules/vite/bin/vite.js" build --logLevel error --ssr server.tsx --outDir server
  node test.mjs "$react"
done
