import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import { PROTO_FIELDS } from '../../src/engine/question.ts';
import { Level, Source } from '../../src/engine/types.ts';
import {
  EffectiveResponseSchema,
  PermissionService,
  PermissionType,
} from '../../src/gen/usher/permission/v1/permission_pb.ts';
import { answersOf, RPCS } from '../../src/rpc/methods.ts';
import { PROTO, REST } from '../../src/rpc/naming.ts';
import { HELD, ScriptedEngine } from '../grpc/scripted-engine.ts';

const SUBJECT = { email: 'kim@example.com', app: 'billing', resourceType: '', resourceId: '', minRevision: '' };

describe('the methods of the service', () => {
  test('exactly the unary RPCs of the protocol have an implementation', () => {
    const unary = PermissionService.methods.filter(({ name }) => name !== 'Watch').map(({ localName }) => localName);
    expect(Object.keys(RPCS).sort()).toEqual(unary.sort());
    expect(Object.keys(answersOf(new ScriptedEngine())).sort()).toEqual(unary);
  });

  test('a check is answered at once from cached facts, and later otherwise', async () => {
    const engine = new ScriptedEngine();
    const request = { ...SUBJECT, permission: 'view', accessLevel: Level.EDIT };
    const expected = { allowed: false, decision: HELD.view, revision: '7', question: null };
    const { minRevision: _, ...subject } = SUBJECT;
    const question = { ...subject, permission: 'view' };
    expect(RPCS.check.ask(engine, request, { naming: PROTO })).toMatchObject({ ...expected, question });
    expect(RPCS.check.ask(engine, { ...request, minRevision: '7' }, { naming: PROTO })).toEqual(expected);
    engine.warm = false;
    const later = RPCS.check.ask(engine, request, { naming: PROTO });
    expect(later).toBeInstanceOf(Promise);
    expect(await later).toEqual(expected);
  });

  test('an impossible level is refused with the name of its field', () => {
    const ask = (accessLevel: number) => () =>
      RPCS.check.ask(new ScriptedEngine(), { ...SUBJECT, permission: 'view', accessLevel }, { naming: PROTO });
    for (const level of [Level.ALLOWED, 4, -1]) expect(ask(level)).toThrow(/^access_level: /);
  });

  test('a bulk check answers a repeated code once, in the order of first mention', async () => {
    const permissions = ['view', 'edit', 'view', 'denied', 'edit'];
    const request = { ...SUBJECT, permissions, accessLevel: Level.NONE };
    const answer = await RPCS.bulkCheck.ask(new ScriptedEngine(), request, { naming: PROTO });
    expect(answer).toMatchObject({ permissions: ['view', 'edit', 'denied'] });
  });

  test('each protocol finds its own names in issues', () => {
    const request = { ...SUBJECT, permissions: ['view', ''], accessLevel: Level.NONE };
    const ask = (naming: typeof PROTO) => () => RPCS.bulkCheck.ask(new ScriptedEngine(), request, { naming });
    expect(ask(PROTO)).toThrow(/^permissions\[1\]: /);
    expect(ask(REST)).toThrow(/^permissions\.1: /);
    const half = (naming: typeof PROTO) => () =>
      RPCS.check.ask(
        new ScriptedEngine(),
        { ...SUBJECT, resourceType: 'invoice', permission: 'view', accessLevel: 0 },
        { naming },
      );
    expect(half(PROTO)).toThrow(PROTO_FIELDS.resourceType);
    expect(half(REST)).toThrow('resourceType');
  });

  test('a message of effective permissions distinguishes an empty group name from none', async () => {
    const item = { code: 'view', tiered: true, global: false, level: Level.VIEW, granted: true, source: Source.ROLE };
    const message = RPCS.effective.toMessage({
      items: [
        { ...item, groupName: '' },
        { ...item, tiered: false, groupName: null },
      ],
      revision: '7',
    });
    const bytes = toBinary(EffectiveResponseSchema, create(EffectiveResponseSchema, message));
    const [first, second] = fromBinary(EffectiveResponseSchema, bytes).permissions;
    expect(first).toMatchObject({ type: PermissionType.TIERED, groupName: '', accessLevel: Level.VIEW });
    expect(second?.type).toBe(PermissionType.BINARY);
    expect(second?.groupName).toBeUndefined();
  });
});
