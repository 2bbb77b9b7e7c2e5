import { create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { describe, expect, test } from '@jest/globals';
import { Level, type MemberNeed, type PolicyRows } from '../../src/engine/types.ts';
import {
  FollowResponseSchema,
  MembersResponseSchema,
  PolicyResponseSchema,
} from '../../src/gen/usher/facts/v1/facts_pb.ts';
import {
  fromFollowResponse,
  fromMembers,
  fromPolicy,
  policyBytes,
  toFollowResponse,
  toMembers,
} from '../../src/rpc/facts-messages.ts';

const NEED: MemberNeed = { email: 'ada@example.com', app: 'shop', resourceType: '', resourceId: '' };
const ON_RECORD: MemberNeed = { ...NEED, resourceType: 'order', resourceId: '7' };
const WINDOW = {
  head: 8,
  headNonce: 'n8',
  sinceNonce: 'n7',
  changes: [{ revision: 8, nonce: 'n8', scopes: ['m:shop:ada@example.com'] }],
  tooMany: false,
  ageMs: 12,
};
const LOG = { head: 8n, headNonce: 'n8' };

describe('facts as messages', () => {
  test('are read as they were written', () => {
    const person = { email: NEED.email, active: true, superadmin: false };
    const member = { app: 'shop', email: NEED.email, appId: 3, admin: true, roleIds: [4, 5] };
    const levels = [
      { permissionId: 6, level: Level.NONE },
      { permissionId: 7, level: Level.EDIT },
    ];
    const overrides = { app: 'shop', email: NEED.email, resourceType: 'order', resourceId: '7', levels };
    const absent = { ...member, appId: null, admin: false, roleIds: [] };
    const reply = {
      window: WINDOW,
      ageMs: 34,
      answers: [
        { person, member, overrides, boundaries: { person: 0, member: 5_000_000_000, overrides: 30 } },
        { person, member: absent, overrides: null, boundaries: { person: null, member: null, overrides: null } },
      ],
    };
    const message = create(MembersResponseSchema, toMembers(reply));
    expect(fromMembers(message, [ON_RECORD, NEED])).toEqual(reply);
  });

  test('say that the log was read from a standby', () => {
    const reply = { window: { ...WINDOW, standby: true }, ageMs: 0, answers: [] };
    expect(fromMembers(create(MembersResponseSchema, toMembers(reply)), []).window).toEqual(reply.window);
  });

  test('of a policy are read as they were written', () => {
    const policy: PolicyRows = {
      app: 'shop',
      appId: 3,
      strictCodes: true,
      resourceTypes: ['order'],
      permissions: [
        { id: 6, code: 'read', tiered: true, global: false, groupName: null },
        { id: 7, code: 'pay', tiered: false, global: true, groupName: 'money' },
      ],
      rolePermissions: [
        { roleId: 4, permissionId: 6, level: Level.VIEW },
        { roleId: 5, permissionId: 6, level: Level.EDIT },
      ],
    };
    const reply = { window: WINDOW, policy, ageMs: 1 };
    const read = (answer: typeof reply) => fromPolicy(fromBinary(PolicyResponseSchema, policyBytes(answer)), 'shop');
    expect(read(reply)).toEqual(reply);
    // The same policy again, written once, with the log of another revision.
    const later = { ...reply, window: { ...WINDOW, head: 9, headNonce: 'n9' }, ageMs: 0 };
    expect(read(later)).toEqual(later);
    expect(read(reply)).toEqual(reply);
  });

  test('of a stream begin where the message before ended, and are not told after a reset', () => {
    const batch = {
      from: { number: 7, nonce: 'n7' },
      end: { number: 8, nonce: 'n8' },
      rows: WINDOW.changes,
      scopes: [],
      reset: false,
    };
    const news = fromFollowResponse(create(FollowResponseSchema, toFollowResponse(batch)));
    expect(news).toEqual({ since: 7, ...WINDOW, ageMs: 0 });
    expect(
      fromFollowResponse(create(FollowResponseSchema, toFollowResponse({ ...batch, reset: true }))),
    ).toBeUndefined();
  });

  const member = { active: true };
  const overrides = { permissionIds: [1n], levels: [2] };
  test.each<[string, MessageInitShape<typeof MembersResponseSchema>, readonly MemberNeed[]]>([
    ['fewer members than needs', { log: LOG, members: [member] }, [NEED, NEED]],
    ['more members than needs', { log: LOG, members: [member, member] }, [NEED]],
    ['no log', { members: [member] }, [NEED]],
    ['no overrides where a record was named', { log: LOG, members: [member] }, [ON_RECORD]],
    ['overrides where none was named', { log: LOG, members: [{ ...member, overrides }] }, [NEED]],
    [
      'a level that does not exist',
      { log: LOG, members: [{ ...member, overrides: { ...overrides, levels: [4] } }] },
      [ON_RECORD],
    ],
    ['a level too few', { log: LOG, members: [{ ...member, overrides: { ...overrides, levels: [] } }] }, [ON_RECORD]],
    ['a number beyond those of JavaScript', { log: LOG, members: [{ ...member, roleIds: [2n ** 60n] }] }, [NEED]],
  ])('with %s are refused', (_, message, needs) => {
    expect(() => fromMembers(create(MembersResponseSchema, message), needs)).toThrow();
  });

  test('of a role whose level is missing are refused', () => {
    const permissions = [{ id: 1n, code: 'read', roleIds: [2n], levels: [] }];
    expect(() => fromPolicy(create(PolicyResponseSchema, { log: LOG, permissions }), 'shop')).toThrow();
  });
});
