// Asks what somebody may: node main.ts EMAIL APP PERMISSION[,PERMISSION...] [any|view|edit [TYPE:ID]]
import { createUsher, type Held, UsherError } from '@usher-service/client';

const [email = '', app = '', codes = '', asked, record] = process.argv.slice(2);
const permissions = codes.split(',');
const level = asked === 'view' || asked === 'edit' ? asked : undefined;
const [type = '', ...id] = record?.split(':') ?? [];
const subject = { email, app, resource: record === undefined ? undefined : { type, id: id.join(':') } };

const { USHER_GRPC: address = 'localhost:50051', USHER_API_KEY: key } = process.env;
const usher = createUsher({ address, key, deadlineMs: 5000 });
try {
  const [permission = ''] = permissions;
  const decision = await usher.check({ ...subject, permission, level });
  show('check', permission, decision);
  // Read your writes: the next answers are at least as fresh as this one.
  const fresh = { minRevision: decision.revision };
  for (const [code, one] of await usher.bulkCheck({ ...subject, permissions, level }, fresh)) show('bulk', code, one);
  for (const one of (await usher.effective(subject, fresh)).permissions) show('effective', one.permission, one);
} catch (error) {
  console.error(error instanceof UsherError ? `denied: error=${error.reason} ${error.message}` : error);
  process.exitCode = 1;
} finally {
  usher.close();
}

function show(method: string, code: string, { allowed, level, source }: Pick<Held, 'allowed' | 'level' | 'source'>) {
  const verdict = allowed ? 'allowed' : 'denied ';
  console.log(`${method.padEnd(10)} ${code.padEnd(24)} ${verdict} level=${level ?? 'none'} source=${source ?? 'none'}`);
}
