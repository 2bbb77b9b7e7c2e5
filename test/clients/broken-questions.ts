/** Questions as programs without types write them, well-formed and with one thing wrong. */
import fc from 'fast-check';

export const TEXT = fc.constantFrom('atelier', 'ticket', '42', 'a@b.example', 'Ř');
export const GOOD = fc.record(
  {
    email: TEXT,
    app: TEXT,
    permission: TEXT,
    resource: fc.record({ type: TEXT, id: TEXT }),
    level: fc.constantFrom('view', 'edit'),
  },
  { requiredKeys: ['email', 'app', 'permission'] },
);
export class Ticket {
  type = 'ticket';
  id = '42';
}
/** No text, wherever one is meant. */
export const NO_TEXTS: readonly unknown[] = [
  null,
  '',
  42,
  0,
  Number.NaN,
  42n,
  true,
  false,
  Symbol('42'),
  new String('42'),
  [],
  ['42'],
  {},
  () => '42',
  new Date(0),
  Buffer.from('42'),
  new Proxy({}, {}),
  'a\ud800',
];
export const NO_TEXT = fc.constantFrom(...NO_TEXTS);
export const NO_RECORDS: readonly unknown[] = [
  null,
  '',
  'ticket:42',
  42,
  true,
  [],
  ['ticket', '42'],
  {},
  () => ({}),
  new Ticket(),
  new Map([['type', 'ticket']]),
  Object.create({ type: 'ticket', id: '42' }),
  { type: 'ticket' },
  { id: '42' },
  { type: 'ticket', id: '42', tenant: '1' },
  { type: 'ticket', id: undefined },
  { resourceType: 'ticket', resourceId: '42' },
];
export const NO_RECORD = fc.oneof(
  fc.constantFrom(...NO_RECORDS),
  NO_TEXT.map((id) => ({ type: 'ticket', id })),
  NO_TEXT.map((type) => ({ type, id: '42' })),
);
export const NO_LEVEL = fc.oneof(
  NO_TEXT,
  fc.constantFrom<unknown>('write', 'allowed', 'Edit', 'read', ' edit', 2, 3, ['edit']),
);
export const STRANGE = fc.oneof(
  fc.constantFrom('resourceType', 'resourceId', 'resource_id', 'ressource', 'accessLevel', 'minRevision', 'user'),
  fc.constantFrom('__proto__x', 'constructor', 'toString', 'hasOwnProperty', 'Resource', 'levels', ''),
  fc.string(),
);

/** One thing wrong with a question. */
export const BROKEN: fc.Arbitrary<unknown> = fc.oneof(
  fc.tuple(GOOD, fc.constantFrom('email', 'app', 'permission'), NO_TEXT).map(([q, name, no]) => ({ ...q, [name]: no })),
  fc.tuple(GOOD, fc.constantFrom('email', 'app', 'permission')).map(([{ ...q }, name]) => {
    delete (q as Record<string, unknown>)[name];
    return q;
  }),
  fc.tuple(GOOD, NO_RECORD).map(([q, resource]) => ({ ...q, resource })),
  fc.tuple(GOOD, NO_LEVEL).map(([q, level]) => ({ ...q, level })),
  fc
    .tuple(GOOD, STRANGE, fc.constantFrom<unknown>('x', undefined, null))
    .filter(([, name]) => !['email', 'app', 'permission', 'resource', 'level', '__proto__'].includes(name))
    .map(([q, name, value]) => ({ ...q, [name]: value })),
  GOOD.map((q) => Object.create(q)),
  GOOD.map((q) => Object.assign(new Ticket(), q)),
  GOOD.map((q) => Object.assign([], q)),
  GOOD.map((q) => Object.assign(() => undefined, q)),
  fc.constantFrom<unknown>(undefined, null, 'ben@example.com', 42, [], new Map()),
);
