#!/usr/bin/env bash
# Installs the packed client in an empty folder outside of the repository, as its users do, and asks a service and an edge of it
# through it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export PATH="$root/node_modules/node/bin:$PATH"
work=$(mktemp -d)
source "$here/../processes.sh"

mkdir "$work/app" "$work/data"
cd "$work/app"
echo '{"type": "module", "private": true}' >package.json
# As the README says it, beside a clone: the package that is packed is built by that.
rm -rf "$here/dist"
ln -s "$root" usher
npm install --silent --no-audit --no-fund "$(npm pack --silent ./usher/clients/typescript)"
npm install --silent --no-audit --no-fund @connectrpc/connect@2 @connectrpc/connect-node@2
cp "$here/test.mjs" .
cat >types.ts <<'TYPES'
import { createUsher, type Decision } from '@usher-service/client';
import { connectTransport } from '@usher-service/client/connect';
import { requirePermission } from '@usher-service/client/express';
import { createLocalUsher } from '@usher-service/client/local';

const decision: Promise<Decision> = createUsher({ address: 'localhost:1' }).check({ email: 'a@b.example', app: 'a', permission: 'p' });
import { createAdmin } from '@usher-service/client/admin';

const people: Promise<string[]> = createAdmin({ url: 'http://localhost:1', key: 'k' }).GET('/api/users').then(({ data }) => data.map((one) => one.email));
// @ts-expect-error: a question has a permission
void createLocalUsher({ address: 'localhost:1' }).peek({ email: 'a@b.example', app: 'a' });
void createUsher({ transport: connectTransport({ url: 'http://localhost:1' }), batch: false });
export { decision, people, requirePermission };
TYPES
node "$root/node_modules/typescript/bin/tsc" --noEmit --strict --skipLibCheck --module nodenext --target es2023 --types '' types.ts

start service
grpc=$(address service grpc) rest=$(address service rest) key=$(cat "$work/data/internal-api-key")
node test.mjs "$grpc" "$rest" "$key"
# Every Node.js that package.json names; the one above is that of the repository.
for version in 20 22; do
  npm install --silent --no-audit --no-fund --prefix "$work/node-$version" "node@$version"
  (
    export PATH="$work/node-$version/node_modules/node/bin:$PATH"
    node --version
    (cd "$work/app" && rm -f ./*.tgz && npm pack --silent ./usher/clients/typescript >/dev/null && tar -tzf ./*.tgz package/dist/local.js)
    node test.mjs "$grpc" "$rest" "$key"
  )
done
start edge --upstream "$grpc"
node test.mjs "$(address edge grpc)" "$rest" "$key"
