/** Run with --expose-gc: prints what facts and repeated checks really take of the heap, and what they are counted as. */

import { systemClock } from '../../src/base/clock.ts';
import { Facts } from '../../src/engine/facts.ts';
import { keepQuestion } from '../../src/engine/grounds.ts';
import { Level, type MemberAnswer, type MemberFacts } from '../../src/engine/types.ts';
import { CheckCache, requestText } from '../../src/grpc/request-cache.ts';

const COUNT = 10_000;
const collect = globalThis.gc as () => void;
/** As facts come from a database: no two share a text. */
const read = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const email = (n: number) => `person.number${n}@example.com`;
const member = (app: string, n: number): MemberFacts => {
  return read({ app, email: email(n), appId: 7, admin: false, roleIds: [1, 2, 3] });
};

function heap(): number {
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}

function measure(counted: () => number, fill: (n: number) => void, count = COUNT): { real: number; counted: number } {
  const [bytes, before] = [counted(), heap()];
  for (let n = 0; n < count; n++) fill(n);
  return { real: Math.round((heap() - before) / count), counted: Math.round((counted() - bytes) / count) };
}

function facts() {
  const bounds = { policies: 10_000, persons: 100_000, members: 1e9, bytes: 1e12, policyBytes: 1e12 };
  const all = new Facts({ clock: systemClock, ttlMs: 1e8, tickMs: 100, ...bounds });
  return { all, counted: () => all.bytes.people + all.bytes.policies };
}

const { all, counted } = facts();
const persons = measure(counted, (n) =>
  all.putPerson(read({ email: email(n), active: true, superadmin: false }), 1, 1),
);
const members = measure(counted, (n) => all.putMember(member('app1', n), 1, 1));
const overrides = measure(counted, (n) => {
  const levels = n % 2 === 0 ? [] : [{ permissionId: 5, level: Level.VIEW }];
  const record = read({ resourceType: 'document', resourceId: `document-${n}`, levels });
  const answer = { member: member('app1', n) } as MemberAnswer;
  all.putOverrides({ app: 'app1', email: email(n), ...record }, answer, 1, 1);
});
const policies = measure(
  counted,
  (n) =>
    all.putPolicy(
      read({
        app: `app${n}`,
        appId: n,
        strictCodes: false,
        resourceTypes: ['document'],
        permissions: Array.from({ length: 50 }, (_, id) => {
          return { id, code: `permission.${id}`, tiered: true, global: false, groupName: null };
        }),
        rolePermissions: Array.from({ length: 200 }, (_, id) => {
          return { roleId: id % 8, permissionId: id % 50, level: Level.VIEW };
        }),
      }),
      1,
      1,
    ),
  200,
);
const cache = new CheckCache(1e12);
const checks = measure(
  () => cache.size.bytes,
  (n) => {
    const text = requestText(Buffer.from(`${email(n)} billing invoices.read document document-${n}`));
    const [address = '', app = '', permission = '', resourceType = '', resourceId = ''] = text.split(' ');
    const kept = keepQuestion({ email: address, app, permission, resourceType, resourceId });
    const fact = { value: null, revision: 1, readAt: 1, expires: 1e9, lease: { live: true } } as never;
    const policy = { lease: { live: true }, due: 1e9 + n };
    kept.held = { policy, permission: fact, person: fact, member: fact, overrides: fact };
    cache.put(text, { kept, level: Level.NONE, used: true });
  },
);
console.log(JSON.stringify({ persons, members, overrides, policies, checks }));
