import { status } from '@grpc/grpc-js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { UsherError } from '../../src/base/errors.ts';
import type { EffectiveItem } from '../../src/engine/types.ts';
import { PermissionService } from '../../src/gen/usher/permission/v1/permission_pb.ts';
import {
  call,
  callBytes,
  closeDoors,
  encodeCheck,
  failureOf,
  openClient,
  openDoor,
  openRaw,
  QUESTION,
  readDetails,
  refusalOf,
  SUBJECT,
} from './support.ts';

afterEach(closeDoors);

const TYPE = 'type.googleapis.com/google.rpc.';

describe('API keys', () => {
  const KEY = 'key-of-billing';
  const authorize = (key: string | undefined): undefined => {
    if (key === 'key-of-mail') {
      throw new UsherError('KEY_SCOPE', 'The key mail lacks the scope check.', { details: { scope: 'check' } });
    }
    if (key !== KEY) throw new UsherError('UNAUTHENTICATED', 'No key that is known here.');
  };

  test('a right key is admitted on every method', async () => {
    const client = openClient((await openDoor({ authorize })).port);
    const metadata = { 'x-internal-api-key': KEY };
    await call(client, 'Check', QUESTION, { metadata });
    await call(client, 'BulkCheck', { ...SUBJECT, permissions: ['edit'] }, { metadata });
    await call(client, 'Effective', SUBJECT, { metadata });
  });

  test.each([
    ['missing', {}],
    ['wrong', { 'x-internal-api-key': 'guess' }],
    ['empty', { 'x-internal-api-key': '' }],
    ['in the wrong place', { authorization: `Bearer ${KEY}` }],
  ])('%s is UNAUTHENTICATED on every method, before the question is read', async (_, metadata) => {
    const door = await openDoor({ authorize });
    const client = openClient(door.port);
    // The front answers some of them, and grpc-js the others.
    const unary = PermissionService.methods.filter(({ methodKind }) => methodKind === 'unary');
    for (const refused of [
      call(client, 'Check', QUESTION, { metadata }),
      call(client, 'Explain', { check: QUESTION }, { metadata }),
      call(client, 'BulkCheck', { ...SUBJECT, permissions: [] }, { metadata }),
      call(client, 'Effective', {}, { metadata }),
      ...unary.map(({ name }) => callBytes(client, name, Buffer.from([0xff]), metadata)),
    ]) {
      expect(await refusalOf(refused)).toMatchObject({
        status: status.UNAUTHENTICATED,
        code: status.UNAUTHENTICATED,
        reason: 'UNAUTHENTICATED',
        domain: 'usher',
        violations: undefined,
        retrySeconds: undefined,
      });
    }
    expect(door.engine.asked).toEqual([]);
  });

  test.each([
    ['the right one twice', [KEY, KEY]],
    ['the right one first', [KEY, 'guess']],
    ['the right one last', ['guess', KEY]],
    ['with an empty one', [KEY, '']],
  ])('two keys, %s, are UNAUTHENTICATED', async (_, keys) => {
    const door = await openDoor({ authorize });
    const answer = await openRaw(door.port).check(encodeCheck(), { 'x-internal-api-key': keys });
    expect(answer.status).toBe(String(status.UNAUTHENTICATED));
    expect(door.engine.asked).toEqual([]);
  });

  test('two keys are refused even where no key is needed', async () => {
    const door = await openDoor();
    const answer = await openRaw(door.port).check(encodeCheck(), { 'x-internal-api-key': ['a', 'b'] });
    expect(answer.status).toBe(String(status.UNAUTHENTICATED));
  });

  test('a key without the scope is PERMISSION_DENIED with KEY_SCOPE and the scope', async () => {
    const client = openClient((await openDoor({ authorize })).port);
    const refused = call(client, 'Check', QUESTION, { metadata: { 'x-internal-api-key': 'key-of-mail' } });
    expect(await refusalOf(refused)).toMatchObject({
      status: status.PERMISSION_DENIED,
      reason: 'KEY_SCOPE',
      metadata: { scope: 'check' },
    });
  });

  test('no key is ever logged', async () => {
    const door = await openDoor({ authorize });
    const client = openClient(door.port);
    for (const key of ['secret-guess', 'key-of-mail']) {
      await failureOf(call(client, 'Check', QUESTION, { metadata: { 'x-internal-api-key': key } }));
      expect(door.logged()).toContain('gRPC call refused');
      expect(door.logged()).not.toContain(key);
    }
  });
});

describe('invalid questions over gRPC', () => {
  const resource = { resourceType: 'invoice', resourceId: '1' };
  test.each([
    ['no e-mail', { ...QUESTION, email: '' }, ['email']],
    ['nothing at all', {}, ['email', 'app', 'permission']],
    ['a long e-mail', { ...QUESTION, email: 'a'.repeat(255) }, ['email']],
    ['a long application', { ...QUESTION, app: 'a'.repeat(65) }, ['app']],
    ['a long permission', { ...QUESTION, permission: 'a'.repeat(129) }, ['permission']],
    ['a long type', { ...QUESTION, ...resource, resourceType: 'a'.repeat(65) }, ['resource_type']],
    ['a long id', { ...QUESTION, ...resource, resourceId: '漢'.repeat(257) }, ['resource_id']],
    ['a long revision', { ...QUESTION, minRevision: '1'.repeat(65) }, ['min_revision']],
    ['the level ALLOWED', { ...QUESTION, accessLevel: 1 }, ['access_level']],
    ['an unknown level', { ...QUESTION, accessLevel: 4 }, ['access_level']],
    ['a negative level', { ...QUESTION, accessLevel: -1 }, ['access_level']],
    ['a control character in an id', { ...QUESTION, ...resource, resourceId: 'a\u0000b' }, ['resource_id']],
    ['a line feed in a permission', { ...QUESTION, permission: 'edit\n' }, ['permission']],
    ['a C1 control in an application', { ...QUESTION, app: 'bil\u0085ling' }, ['app']],
  ])('a question is INVALID_ARGUMENT with its fields: %s', async (_, question, fields) => {
    const door = await openDoor();
    const refusal = await refusalOf(call(openClient(door.port), 'Check', question as typeof QUESTION));
    expect(refusal).toMatchObject({ status: status.INVALID_ARGUMENT, reason: 'VALIDATION_FAILED', domain: 'usher' });
    expect(refusal.violations?.map(({ field }) => field)).toEqual(fields);
    expect(refusal.kinds).toEqual([`${TYPE}ErrorInfo`, `${TYPE}BadRequest`]);
    expect(refusal.text).toContain(fields[0]);
    expect(door.engine.asked).toEqual([]);
  });

  test('a question exactly at each limit is accepted', async () => {
    const door = await openDoor();
    const email = `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}`;
    expect(email).toHaveLength(254);
    await call(openClient(door.port), 'Check', {
      email,
      app: 'a'.repeat(64),
      permission: 'p'.repeat(128),
      resourceType: 't'.repeat(64),
      resourceId: '😀'.repeat(256),
      minRevision: '7',
    });
    expect(door.engine.asked.at(-1)?.what).toMatchObject({ email, resourceId: '😀'.repeat(256) });
  });

  test.each(['Check', 'BulkCheck', 'Effective'] as const)(
    '%s with half a resource is INCOMPLETE_RESOURCE',
    async (method) => {
      const door = await openDoor();
      const client = openClient(door.port);
      const whole = { Check: QUESTION, BulkCheck: { ...SUBJECT, permissions: ['edit'] }, Effective: SUBJECT }[method];
      for (const half of [{ resourceType: 'invoice' }, { resourceId: '1' }]) {
        const refusal = await refusalOf(call(client, method, { ...whole, ...half }));
        expect(refusal).toMatchObject({ status: status.INVALID_ARGUMENT, reason: 'INCOMPLETE_RESOURCE' });
        expect(refusal.violations?.[0]?.field).toMatch(/^resource_(type|id)$/);
      }
      expect(door.engine.asked).toEqual([]);
    },
  );

  test.each([
    ['above all that are known', [0x42, 1, 0x61], '8'],
    ['a varint', [0x40, 1], '8'],
    ['64 bits', [0x49, 1, 2, 3, 4, 5, 6, 7, 8], '9'],
    ['with a tag of two bytes', [0x82, 0x01, 0], '16'],
    ['the highest', [0xfa, 0xff, 0xff, 0xff, 0x0f, 0], '536870911'],
    ['a group', [0x43, 0x44], '8'],
    ['known, of another wire type', [0x08, 1], '1'],
  ])('an unknown field, %s, is reported by its number', async (_, field, number) => {
    const door = await openDoor();
    const refusal = await refusalOf(
      callBytes(openClient(door.port), 'Check', Buffer.from([...encodeCheck(), ...field])),
    );
    expect(refusal).toMatchObject({ status: status.INVALID_ARGUMENT, reason: 'VALIDATION_FAILED' });
    expect(refusal.violations?.map(({ field: name }) => name)).toEqual([number]);
    expect(refusal.text).toContain(`field number ${number}`);
    expect(door.engine.asked).toEqual([]);
  });

  test('an Effective question with a permission or a level is refused', async () => {
    const client = openClient((await openDoor()).port);
    for (const bytes of [encodeCheck(), encodeCheck({ ...QUESTION, permission: '', accessLevel: 3 })]) {
      const refusal = await refusalOf(callBytes(client, 'Effective', bytes));
      expect(refusal.violations?.map(({ field }) => field)).toEqual([bytes.includes(0x30) ? '6' : '3']);
    }
  });

  test.each([
    ['cut off', [0x0a, 5, 0x61]],
    ['a varint without end', [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
    ['field number 0', [0x02, 0]],
    ['wire type 6', [0x0e]],
    ['the end of no group', [0x0c]],
    ['a lone surrogate', [0x0a, 3, 0xed, 0xa0, 0x80]],
    ['latin1', [0x0a, 1, 0xe9]],
    ['an overlong form', [0x0a, 2, 0xc1, 0xa1]],
  ])('a malformed message is refused: %s', async (_, bytes) => {
    const door = await openDoor();
    const refused = callBytes(openClient(door.port), 'Check', Buffer.from([...encodeCheck(), ...bytes]));
    expect(await refusalOf(refused)).toMatchObject({ status: status.INVALID_ARGUMENT, reason: 'VALIDATION_FAILED' });
    expect(door.engine.asked).toEqual([]);
  });

  test('BulkCheck refuses no codes, 1,001 codes, an empty and a long one', async () => {
    const client = openClient((await openDoor()).port);
    for (const [permissions, field] of [
      [[], 'permissions'],
      [Array.from({ length: 1001 }, (_, i) => `p${i}`), 'permissions'],
      [Array.from({ length: 1001 }, () => 'same'), 'permissions'],
      [['a', ''], 'permissions[1]'],
      [['a', 'b', 'a'.repeat(129)], 'permissions[2]'],
      [['a', 'b\u0007'], 'permissions[1]'],
    ] as const) {
      const refusal = await refusalOf(call(client, 'BulkCheck', { ...SUBJECT, permissions: [...permissions] }));
      expect(refusal).toMatchObject({ status: status.INVALID_ARGUMENT, reason: 'VALIDATION_FAILED' });
      expect(refusal.violations?.map(({ field: name }) => name)).toEqual([field]);
    }
  });

  test('the trailers have room for many faults', async () => {
    const client = openClient((await openDoor()).port);
    const refusal = await refusalOf(call(client, 'BulkCheck', { permissions: Array.from({ length: 1000 }, () => '') }));
    expect(refusal.violations).toHaveLength(17);
    expect(refusal.violations?.at(-1)?.description).toBe('and 986 more');
    const bytes = refusal.trailers.get('grpc-status-details-bin')[0] as Buffer;
    expect(bytes.length).toBeLessThan(4096);
  });

  test.each(['abc', '-1', '1.', '1.5.6', '01', '99999999999999999999', ' 7', '７'])(
    'min_revision %j is not a revision',
    async (text) => {
      const door = await openDoor();
      const client = openClient(door.port);
      const refused = [
        call(client, 'Check', { ...QUESTION, minRevision: text }),
        call(client, 'Check', { ...QUESTION, email: 'nobody', minRevision: text }),
        call(client, 'BulkCheck', { ...SUBJECT, permissions: ['edit'], minRevision: text }),
        call(client, 'Effective', { ...SUBJECT, minRevision: text }),
      ];
      for (const refusal of await Promise.all(refused.map(refusalOf))) {
        expect(refusal).toMatchObject({ status: status.INVALID_ARGUMENT, reason: 'UNKNOWN_REVISION' });
      }
    },
  );

  test('a min_revision of the future is UNKNOWN_REVISION, even for denials', async () => {
    const client = openClient((await openDoor()).port);
    for (const email of [QUESTION.email, 'nobody']) {
      const refused = [
        call(client, 'Check', { ...QUESTION, email, minRevision: '10' }),
        call(client, 'BulkCheck', { ...SUBJECT, email, permissions: ['edit'], minRevision: '10' }),
        call(client, 'Effective', { ...SUBJECT, email, minRevision: '10' }),
      ];
      for (const refusal of await Promise.all(refused.map(refusalOf))) {
        expect(refusal).toMatchObject({ status: status.INVALID_ARGUMENT, reason: 'UNKNOWN_REVISION' });
      }
    }
  });
});

describe('trouble', () => {
  const METHODS = [
    ['Check', QUESTION],
    ['BulkCheck', { ...SUBJECT, permissions: ['edit'] }],
    ['Effective', SUBJECT],
  ] as const;

  test('a database outage is UNAVAILABLE with RetryInfo, never a denial', async () => {
    const door = await openDoor();
    const client = openClient(door.port);
    door.engine.failure = new UsherError('UNAVAILABLE', 'The database does not answer.', {
      retryAfter: 2.5,
      cause: new Error('connect ECONNREFUSED 10.0.0.7:5432'),
    });
    for (const warm of [true, false]) {
      door.engine.warm = warm;
      for (const [method, question] of METHODS) {
        const refusal = await refusalOf(call(client, method, question));
        expect(refusal).toMatchObject({
          status: status.UNAVAILABLE,
          reason: 'UNAVAILABLE',
          text: 'The database does not answer.',
          retrySeconds: 3n,
          kinds: [`${TYPE}ErrorInfo`, `${TYPE}RetryInfo`],
        });
        expect(JSON.stringify(refusal.metadata)).not.toContain('ECONNREFUSED');
      }
    }
  });

  test.each([
    ['an error', new Error('select secret from "/srv/usher"')],
    ['a string', 'select secret from "/srv/usher"'],
    ['null', null],
    ['an object that poses as a status', { code: 0, details: 'select secret', metadata: null }],
    ['an error whose message throws', Object.defineProperty(new Error(), 'message', { get: () => void 0 })],
  ])('a defect that throws %s is INTERNAL, stays hidden, and leaves the server alive', async (_, thrown) => {
    const door = await openDoor();
    const client = openClient(door.port);
    door.engine.failure = thrown ?? Object.create(null);
    for (const [method, question] of METHODS) {
      const error = await failureOf(call(client, method, question, { metadata: { 'x-request-id': 'request-0001' } }));
      expect(error.code).toBe(status.INTERNAL);
      expect(error.metadata.get('x-request-id')).toEqual(['request-0001']);
      const shown = `${error.details} ${JSON.stringify(error.metadata.toJSON())}`;
      expect(shown).not.toMatch(/select|secret|srv/);
      const bytes = error.metadata.get('grpc-status-details-bin')[0] as Buffer;
      expect(bytes.toString('latin1')).not.toMatch(/select|secret|srv/);
      expect(readDetails(bytes)).toMatchObject({ reason: 'INTERNAL', domain: 'usher' });
    }
    expect(door.logged()).toContain('request-0001');
    door.engine.failure = undefined;
    await call(client, 'Check', QUESTION);
  });

  test('a defect in authorize admits nobody', async () => {
    const door = await openDoor({
      authorize: () => {
        throw new TypeError('boom');
      },
    });
    const error = await failureOf(call(openClient(door.port), 'Check', QUESTION));
    expect(error.code).toBe(status.INTERNAL);
    expect(door.engine.asked).toEqual([]);
  });

  test('a missing answer of the engine is a defect, neither a denial nor an allowance', async () => {
    const door = await openDoor();
    door.engine.bulk = async () => ({ decisions: [], revision: '7' });
    const client = openClient(door.port);
    for (const permissions of [['edit'], ['not a code', 'edit']]) {
      expect((await failureOf(call(client, 'BulkCheck', { ...SUBJECT, permissions }))).code).toBe(status.INTERNAL);
    }
  });

  test.each(['waited for', 'at hand'])('an answer of more than 1 MiB, %s, is RESOURCE_EXHAUSTED', async (when) => {
    const door = await openDoor();
    const items = Array.from({ length: 9000 }, (_, i): EffectiveItem => {
      const code = `${'p'.repeat(120)}${i}`;
      return { code, tiered: false, groupName: null, global: true, level: 0, granted: false, source: 0 };
    });
    if (when === 'at hand') door.engine.peekEffective = () => items;
    else door.engine.items = items;
    const refusal = await refusalOf(call(openClient(door.port), 'Effective', SUBJECT));
    expect(refusal).toMatchObject({ status: status.RESOURCE_EXHAUSTED, reason: 'PAYLOAD_TOO_LARGE' });
    expect(refusal.text).toContain('BulkCheck');
  });
});

describe('request ids', () => {
  test('a valid request id returns with an error and is logged', async () => {
    const door = await openDoor();
    const metadata = { 'x-request-id': 'Order-42.retry_1' };
    const error = await failureOf(call(openClient(door.port), 'Check', {}, { metadata }));
    expect(error.metadata.get('x-request-id')).toEqual(['Order-42.retry_1']);
    expect(door.logged()).toContain('Order-42.retry_1');
  });

  test.each([undefined, 'short', 'a b c d e f', 'x'.repeat(65), '"><script>'])(
    'the request id %j is replaced',
    async (given) => {
      const metadata: Record<string, string> = given === undefined ? {} : { 'x-request-id': given };
      const error = await failureOf(call(openClient((await openDoor()).port), 'Check', {}, { metadata }));
      const [id] = error.metadata.get('x-request-id');
      expect(id).toMatch(/^[A-Za-z0-9._-]{8,64}$/);
      expect(id).not.toBe(given);
    },
  );
});
