import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Tx } from '../../src/persistence/database.ts';
import { insertProfiles } from '../../src/persistence/directory/profiles.ts';
import {
  accountsOf,
  claimAccounts,
  forgetAccount,
  holdSigningAccount,
  moveAccounts,
  noteAccounts,
  personOfAccount,
  personSignedInBy,
  replaceAccount,
} from '../../src/persistence/people/accounts.ts';
import { ensurePeople } from '../../src/persistence/people/people.ts';
import { addSuperadmin, removeSuperadmin } from '../../src/persistence/people/superadmins.ts';
import { forEachDatabase } from '../support/databases.ts';

const ISSUER = 'https://idp.example.com';
const account = (personId: number, subject: string, more = {}) => ({
  personId,
  issuer: ISSUER,
  subject,
  organization: null,
  mayRule: false,
  seenAt: new Date('2026-01-01Z'),
  ...more,
});
const at = (subject: string) => ({ issuer: ISSUER, subject });

forEachDatabase('accounts', (fixture) => {
  const quietly = <T>(fn: (tx: Tx) => Promise<T>) =>
    fixture.database.change(async (tx) => ({ result: await fn(tx), scopes: [] })).then(({ result }) => result);
  const people = async <N extends string>(...names: N[]): Promise<Record<N, number>> => {
    const ids = await quietly((tx) =>
      ensurePeople(
        tx,
        names.map((name) => `${name}@example.com`),
      ),
    );
    return Object.fromEntries(names.map((name) => [name, ids.get(`${name}@example.com`)])) as Record<N, number>;
  };
  const shadow = (person: number) =>
    quietly(async (tx) => {
      const { rows } = await sql<{ issuer: string | null; subject: string | null }>`
        select issuer, subject from profile where person_id = ${person}`.execute(tx.kysely);
      return rows[0];
    });

  test('one account of a person signs in, and the first one stays', async () => {
    const { ann } = await people('ann');
    expect(await quietly((tx) => claimAccounts(tx, [account(ann, 'a1')], false))).toEqual(new Map([[ann, at('a1')]]));
    expect(await quietly((tx) => claimAccounts(tx, [account(ann, 'a2')], false))).toEqual(new Map([[ann, at('a1')]]));
    expect(await quietly((tx) => holdSigningAccount(tx, ann))).toEqual({ ...at('a1'), mayRule: false });
    await quietly((tx) => replaceAccount(tx, account(ann, 'a2')));
    expect(await quietly((tx) => accountsOf(tx, ['ann@example.com', 'nobody@example.com']))).toMatchObject([
      { email: 'ann@example.com', subject: 'a2', signsIn: true },
      { email: 'ann@example.com', subject: 'a1', signsIn: false },
    ]);
    expect(await quietly((tx) => forgetAccount(tx, ann))).toEqual(at('a2'));
    expect(await quietly((tx) => forgetAccount(tx, ann))).toBeNull();
    expect(await quietly((tx) => claimAccounts(tx, [account(ann, 'a1')], false))).toEqual(new Map([[ann, at('a1')]]));
  });

  test('an account that an event told of is found for events, and signs nobody in', async () => {
    const { ben } = await people('ben');
    const seenAt = new Date();
    await quietly((tx) =>
      noteAccounts(tx, [
        { ...at('b1'), email: 'ben@example.com', seenAt },
        { ...at('b1'), email: 'ben@example.com', seenAt },
        { ...at('b2'), email: 'nobody-known@example.com', seenAt },
      ]),
    );
    expect(await quietly((tx) => personOfAccount(tx, at('b1')))).toEqual({ id: ben, email: 'ben@example.com' });
    expect(await quietly((tx) => personOfAccount(tx, at('b2')))).toBeUndefined();
    expect(
      await quietly((tx) => personOfAccount(tx, { issuer: 'https://other.example', subject: 'b1' })),
    ).toBeUndefined();
    expect(await quietly((tx) => personSignedInBy(tx, at('b1'), true))).toBeUndefined();
    expect(await quietly((tx) => holdSigningAccount(tx, ben))).toBeUndefined();
    await quietly((tx) => claimAccounts(tx, [account(ben, 'b1')], false));
    expect(await quietly((tx) => personSignedInBy(tx, at('b1'), true))).toEqual({ id: ben, email: 'ben@example.com' });
  });

  test("where accounts are bound, one that may not rule is nobody's while its address rules", async () => {
    const { cyd } = await people('cyd');
    await quietly((tx) => claimAccounts(tx, [account(cyd, 'c1')], false));
    const asked = (bound: boolean) => quietly((tx) => personSignedInBy(tx, at('c1'), bound)).then((found) => found?.id);
    await fixture.database.change((tx) => addSuperadmin(tx, 'dee@example.com'));
    await fixture.database.change((tx) => addSuperadmin(tx, 'cyd@example.com'));
    expect([await asked(true), await asked(false)]).toEqual([undefined, cyd]);
    await fixture.database.change((tx) => removeSuperadmin(tx, 'cyd@example.com'));
    expect(await asked(true)).toBe(cyd);
  });

  test('of several people with one account the one who had it last is found', async () => {
    const { eva, eva2 } = await people('eva', 'eva2');
    await quietly((tx) => claimAccounts(tx, [account(eva2, 'e1', { seenAt: new Date('2026-03-01Z') })], false));
    await quietly((tx) => claimAccounts(tx, [account(eva, 'e1', { seenAt: new Date('2026-02-01Z') })], false));
    expect((await quietly((tx) => personOfAccount(tx, at('e1'))))?.id).toBe(eva2);
    expect((await quietly((tx) => personSignedInBy(tx, at('e1'), true)))?.id).toBe(eva2);
  });

  test('accounts move to another person', async () => {
    const { old, next } = await people('old', 'next');
    await quietly(async (tx) => {
      await claimAccounts(tx, [account(old, 'o1', { mayRule: true })], false);
      await noteAccounts(tx, [
        { ...at('o2'), email: 'old@example.com', seenAt: new Date() },
        { ...at('o1'), email: 'next@example.com', seenAt: new Date() },
      ]);
      await moveAccounts(tx, old, next);
    });
    expect(await quietly((tx) => holdSigningAccount(tx, next))).toEqual({ ...at('o1'), mayRule: true });
    expect(await quietly((tx) => accountsOf(tx, ['old@example.com']))).toEqual([]);
    expect((await quietly((tx) => personOfAccount(tx, at('o2'))))?.id).toBe(next);
  });

  test('two who claim at once: one account signs in', async () => {
    const { fay } = await people('fay');
    const claim = (subject: string) =>
      quietly(async (tx) => {
        if ((await holdSigningAccount(tx, fay)) === undefined) await claimAccounts(tx, [account(fay, subject)], false);
        return (await holdSigningAccount(tx, fay))?.subject;
      });
    const found = await Promise.all(['f1', 'f2', 'f3', 'f4'].map(claim));
    expect(new Set(found).size).toBe(1);
  });

  test('a process of the version before reads and writes the same account in the profile', async () => {
    const { gus, hal } = await people('gus', 'hal');
    const write = (person: number, subject: string | null) =>
      quietly(async (tx) => {
        const issuer = subject === null ? null : ISSUER;
        await sql`update profile set issuer = ${issuer}, subject = ${subject} where person_id = ${person}`.execute(
          tx.kysely,
        );
      });
    await quietly((tx) => insertProfiles(tx, [{ email: 'gus@example.com' }]));
    await quietly((tx) => claimAccounts(tx, [account(gus, 'g1')], false));
    expect(await shadow(gus)).toEqual(at('g1'));
    await write(gus, 'g2');
    expect(await quietly((tx) => holdSigningAccount(tx, gus))).toEqual({ ...at('g2'), mayRule: false });
    await quietly((tx) => replaceAccount(tx, account(gus, 'g1')));
    expect(await shadow(gus)).toEqual(at('g1'));
    await write(gus, null);
    expect(await quietly((tx) => holdSigningAccount(tx, gus))).toBeUndefined();
    await quietly((tx) => claimAccounts(tx, [account(gus, 'g3')], false));
    await quietly((tx) => forgetAccount(tx, gus));
    expect(await shadow(gus)).toEqual({ issuer: null, subject: null });
    // A profile that comes after the account shows it, whoever makes it.
    await quietly((tx) => claimAccounts(tx, [account(hal, 'h1')], false));
    await quietly((tx) =>
      sql`insert into profile (person_id, issuer, subject) values (${hal}, ${ISSUER}, 'h2')`.execute(tx.kysely),
    );
    expect(await shadow(hal)).toEqual(at('h1'));
    expect(await quietly((tx) => holdSigningAccount(tx, hal))).toEqual({ ...at('h1'), mayRule: false });
  });

  test('accounts go with their person', async () => {
    const { ida } = await people('ida');
    await quietly((tx) => claimAccounts(tx, [account(ida, 'i1')], false));
    await fixture.database.change(async (tx) => {
      await tx.kysely.deleteFrom('person').where('id', '=', ida).execute();
      return { result: null, scopes: ['u:ida@example.com'] };
    });
    expect(await quietly((tx) => personOfAccount(tx, at('i1')))).toBeUndefined();
  });
});
