import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { AccountRefusals } from '../../src/directory/account-refusals.ts';
import { present, type SignedIn, type TokenPolicy } from '../../src/directory/presence.ts';
import { Subjects } from '../../src/directory/subjects.ts';
import { WorkQueue } from '../../src/directory/work-queue.ts';
import { useDatabase } from '../support/databases.ts';

/** What a token makes of a profile, by itself: the routes see only tokens of the one issuer that is configured. */
const POLICY: TokenPolicy = { binding: null, allowHttp: true, ownNames: false };
const SECOND = 1_800_000_000;

function caller(more: Partial<SignedIn>): SignedIn {
  return {
    email: 'ann@example.com',
    issuer: 'https://idp.example.com',
    subject: '17',
    issuedAt: SECOND,
    organization: null,
    givenName: 'Ann',
    familyName: 'Lee',
    name: 'Ann Lee',
    picture: null,
    locale: null,
    ...more,
  };
}

describe('presence', () => {
  const fixture = useDatabase('postgresql');
  const come = async (more: Partial<SignedIn>, policy = POLICY) => {
    const { result } = await fixture.database.change(async (tx) => ({
      result: await present(tx, caller(more), policy, 'request-1'),
      scopes: [],
    }));
    return [result.firstName, result.subject];
  };

  test('an older token never overwrites newer names, whatever its account', async () => {
    const email = 'old@example.com';
    expect(await come({ email })).toEqual(['Ann', '17']);
    expect(await come({ email, subject: '18', issuedAt: SECOND - 1, givenName: 'Older' })).toEqual(['Ann', '18']);
    expect(await come({ email, subject: '19', givenName: 'Same second' })).toEqual(['Ann', '19']);
    expect(await come({ email, subject: '17', issuedAt: SECOND + 1, givenName: 'Newer' })).toEqual(['Newer', '17']);
  });

  test('the same subject at another issuer is another account', async () => {
    const email = 'bound@example.com';
    const policy = { ...POLICY, binding: { adminOrganizations: new Set<string>(), first: null, configured: [] } };
    const { database } = fixture;
    const subjects = new Subjects({
      database,
      policy,
      turns: new WorkQueue({ permits: 8, clock: systemClock }),
      refusals: new AccountRefusals(database),
      log: createLogger('silent'),
    });
    const other = caller({ email, issuer: 'https://evil.example.com' });
    await subjects.admit(caller({ email }), 'request-1');
    await subjects.admit(caller({ email }), 'request-2');
    await subjects.refuseOther(caller({ email }), 'request-3');
    await expect(subjects.refuseOther(other, 'request-4')).rejects.toMatchObject({ reason: 'IDENTITY_CONFLICT' });
    await expect(subjects.admit(other, 'request-3')).rejects.toMatchObject({ reason: 'IDENTITY_CONFLICT' });
    await expect(come(other, policy)).rejects.toMatchObject({ reason: 'IDENTITY_CONFLICT' });
  });
});
