import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Conflict } from '../../panel/src/api/error.ts';
import { changedIn, type Edited, merged, settled, unedited } from '../../panel/src/api/merge.ts';
import { type Profile, rivals } from '../../panel/src/places/settings/profile-draft.ts';

interface Fields {
  readonly name: string;
  readonly about: string;
  readonly on: boolean;
}
const BASE: Fields = { name: 'Ada', about: '', on: true };

/** Tries to save; answers what is written, and what the form goes on with. */
async function save(edited: Edited<Fields>, now: Fields | null) {
  let kept = edited;
  const written = await settled({
    ...edited,
    read: async () => now,
    keep: (next) => {
      kept = next;
    },
    labels: { name: 'Name' },
  }).catch((error: unknown) => error);
  return { written, kept };
}

describe('two people at one record', () => {
  test('who is alone writes what they typed, and nothing else', async () => {
    const { written } = await save({ base: BASE, draft: { ...BASE, about: 'Countess' } }, BASE);
    expect(written).toEqual({ about: 'Countess' });
  });

  test('what somebody else changed elsewhere stays theirs', async () => {
    const { written, kept } = await save({ base: BASE, draft: { ...BASE, about: 'Countess' } }, { ...BASE, on: false });
    expect(written).toEqual({ about: 'Countess' });
    expect(kept.draft).toEqual({ name: 'Ada', about: 'Countess', on: false });
  });

  test('a field that both changed is refused once with theirs, then written', async () => {
    const now = { ...BASE, name: 'Augusta' };
    const first = await save({ base: BASE, draft: { ...BASE, name: 'Lovelace' } }, now);
    expect(first.written).toBeInstanceOf(Conflict);
    expect((first.written as Conflict).theirs).toEqual([['Name', 'Augusta']]);
    const second = await save(first.kept, now);
    expect(second.written).toEqual({ name: 'Lovelace' });
  });

  test('the same change by both is no conflict, and nothing is left to write', async () => {
    const changed = { ...BASE, name: 'Augusta' };
    expect((await save({ base: BASE, draft: changed }, changed)).written).toEqual({});
  });

  test('of a record that is gone the service tells', async () => {
    const { written, kept } = await save({ base: BASE, draft: { ...BASE, on: false } }, null);
    expect(written).toEqual({ on: false });
    expect(kept.base).toBe(BASE);
  });

  test('whatever both do, a field is theirs where only they changed it, and no write undoes it unseen', () => {
    const fields = fc.record({
      name: fc.constantFrom('a', 'b', 'c'),
      about: fc.constantFrom('', 'x'),
      on: fc.boolean(),
    });
    fc.assert(
      fc.property(fields, fields, fields, (base, draft, now) => {
        const { draft: over, both } = merged({ base, draft }, now);
        for (const name of Object.keys(base) as (keyof Fields)[]) {
          const [mine, theirs] = [draft[name] !== base[name], now[name] !== base[name]];
          expect(over[name]).toBe(mine ? draft[name] : now[name]);
          expect(both.includes(name)).toBe(mine && theirs && draft[name] !== now[name]);
        }
        const unseen = Object.keys(changedIn(now, over)).filter((name) => !both.includes(name as keyof Fields));
        for (const name of unseen as (keyof Fields)[]) expect(now[name]).toBe(base[name]);
        expect(merged(unedited(base), now)).toEqual({ draft: now, both: [] });
      }),
    );
  });

  test('of a profile only fields that were typed into can be rivals', () => {
    const base = { firstName: 'Ada', lastName: null, timezone: null } as unknown as Profile;
    const now = { ...base, firstName: 'Augusta', lastName: 'Byron' };
    expect(rivals(base, { firstName: 'Lady', timezone: 'Europe/London' }, now)).toEqual(['firstName']);
    expect(rivals(base, { firstName: 'Augusta' }, now)).toEqual([]);
  });
});
