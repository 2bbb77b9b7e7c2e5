import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Tx } from '../../src/persistence/database.ts';
import { FOLDED_UP_TO } from '../../src/persistence/migrations/0025-folded-search.ts';
import { foldSearches } from '../../src/persistence/migrations/fold-searches.ts';
import { folded } from '../../src/persistence/people/folding.ts';
import { findPeople } from '../../src/persistence/people/person-search.ts';
import { getSetting, putSetting } from '../../src/persistence/settings.ts';
import { forEachDatabase } from '../support/databases.ts';

/** Letters, marks and forms that both know, whatever the age of their tables; PGlite's decoder drops a byte order mark. */
const RANGES = [
  [0x1, 0x1fff],
  [0x2000, 0x33ff],
  [0xac00, 0xd7a3],
  [0xf900, 0xfefe],
  [0xff00, 0xffef],
  [0x10400, 0x1044f],
] as const;

forEachDatabase('the search of people', (fixture) => {
  const quietly = <T>(fn: (tx: Tx) => Promise<T>): Promise<T> =>
    fixture.database.change(async (tx) => ({ result: await fn(tx), scopes: [] })).then(({ result }) => result);
  const add = (email: string, names: { first?: string; last?: string; display?: string }) =>
    quietly(async (tx) => {
      const { rows } = await sql<{ id: number }>`insert into person (email) values (${email}) returning id`.execute(
        tx.kysely,
      );
      const id = rows[0]?.id as number;
      await sql`insert into profile (person_id, first_name, last_name, display_name)
        values (${id}, ${names.first ?? null}, ${names.last ?? null}, ${names.display ?? null})`.execute(tx.kysely);
      return id;
    });
  const find = (search: string) =>
    fixture.database.read(async (tx) => {
      const { ids } = await findPeople(tx, { search, active: null, members: null }, { limit: 50, after: 0 });
      const { rows } = await sql<{ email: string }>`
        select email from person where id = any(${ids}::bigint[]) order by id`.execute(tx.kysely);
      return rows.map(({ email }) => email.split('@')[0]);
    });

  test('the database folds each character as JavaScript does', async () => {
    const characters = RANGES.flatMap(([first, last]) =>
      Array.from({ length: last - first + 1 }, (_, at) => String.fromCodePoint(first + at)),
    );
    const texts = [
      ...characters,
      ...characters.map((one) => `x${one}Y`),
      'Ὀδυσσεύς ΟΔΟΣ',
      'İSTANBUL ısı',
      'STRASSE ẞß',
      'ﬁﬂ ＡＢＣ',
    ];
    const { rows } = await fixture.database.read((tx) =>
      sql<{
        text: string;
      }>`select folded_name(t) as text from unnest(${texts}::text[]) with ordinality as u (t, n) order by n`.execute(
        tx.kysely,
      ),
    );
    const different = texts.flatMap((text, at) =>
      rows[at]?.text === folded(text) ? [] : [[text, rows[at]?.text, folded(text)]],
    );
    expect(different).toEqual([]);
  });

  test('a person is found by every name, however it is spelled', async () => {
    await add('a@example.com', { first: 'Antonín', last: 'Dvořák' });
    await add('b@example.com', { display: 'Øystein Łukasz', first: 'Bo', last: 'Strauß' });
    await add('c@example.com', { display: 'IRMA ISTANBULLU', last: 'Istanbullu' });
    await add('d@example.com', { display: 'ﬁona ＷＩＤＥ Ёлкин' });
    const found = async (...searches: string[]) =>
      Object.fromEntries(await Promise.all(searches.map(async (one) => [one, await find(one)])));
    expect(await found('dvorak', 'DVOŘÁK', 'dvor\u030cak', 'antonin dv', 'Antonín', 'A@EXAMPLE')).toEqual({
      dvorak: ['a'],
      DVOŘÁK: ['a'],
      'dvor\u030cak': ['a'],
      'antonin dv': ['a'],
      Antonín: ['a'],
      'A@EXAMPLE': ['a'],
    });
    expect(await found('oystein', 'lukasz', 'strauss', 'STRAUẞ', 'bo str')).toEqual({
      oystein: ['b'],
      lukasz: ['b'],
      strauss: ['b'],
      STRAUẞ: ['b'],
      'bo str': ['b'],
    });
    expect(await found('ırma', 'İstanbul', 'irma')).toEqual({ ırma: ['c'], İstanbul: ['c'], irma: ['c'] });
    expect(await found('fiona', 'wide', 'ЕЛКИН', '\u0301', '%', '_')).toEqual({
      fiona: ['d'],
      wide: ['d'],
      ЕЛКИН: ['d'],
      '\u0301': [],
      '%': [],
      _: [],
    });
  });

  test('a person is found by a new name, and no more by the old one', async () => {
    const id = await add('e@example.com', { first: 'Zoë', last: 'Alt' });
    await quietly((tx) => sql`update profile set last_name = 'Müller' where person_id = ${id}`.execute(tx.kysely));
    expect([await find('zoe muller'), await find('zoe alt')]).toEqual([['e'], []]);
    await quietly((tx) =>
      sql`update profile set first_name = null, last_name = null where person_id = ${id}`.execute(tx.kysely),
    );
    expect([await find('muller'), await find('e@example')]).toEqual([[], ['e']]);
  });

  test('what a version before stored is folded in pieces, from where it was left off', async () => {
    const ids: number[] = [];
    for (const n of [1, 2, 3, 4, 5]) ids.push(await add(`old${n}@example.com`, { first: 'Jiří', last: `Starý${n}` }));
    await quietly((tx) =>
      sql`update person_search set searched = 'old' where person_id = any(${ids}::bigint[])`.execute(tx.kysely),
    );
    const fold = () => quietly(async (tx) => await foldSearches(tx.kysely, 2));
    expect([await fold(), await find('jiri')]).toEqual([0, []]);
    await quietly((tx) => putSetting(tx, FOLDED_UP_TO, ids[1]));
    expect([await fold(), await find('jiri')]).toEqual([3, ['old3', 'old4', 'old5']]);
    expect(await fixture.database.read((tx) => getSetting(tx, FOLDED_UP_TO))).toBeUndefined();
    await quietly((tx) => putSetting(tx, FOLDED_UP_TO, 0));
    expect([await fold(), await find('jiri')]).toEqual([2, ['old1', 'old2', 'old3', 'old4', 'old5']]);
  });
});
