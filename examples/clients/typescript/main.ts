// Asks what somebody may: node main.ts EMAIL APP PERMISSION [any|view|edit [TYPE:ID]]
import { createUsher } from '@usher-service/client';

const [email = '', app = '', permission = '', asked, record] = process.argv.slice(2);
// Any other word is refused by the client.
const level = asked === undefined || asked === 'any' ? undefined : (asked as 'view' | 'edit');
const [type = '', id = ''] = record?.split(/:(.*)/s) ?? [];
const resource = record === undefined ? undefined : { type, id };

const { USHER_GRPC: address = 'localhost:50051', USHER_API_KEY: key } = process.env;
const usher = createUsher({ address, key, deadlineMs: 10_000 });
const decision = await usher.check({ email, app, permission, level, resource });
console.log(decision.allowed ? 'allowed' : 'denied', decision.level ?? 'none', decision.source ?? 'none');
usher.close();
