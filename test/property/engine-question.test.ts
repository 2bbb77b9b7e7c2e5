import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { UsherError } from '../../src/base/errors.ts';
import { isPermissionCode, isResourceId, isSlug, LIMITS, normalizeEmail } from '../../src/base/grammar.ts';
import { KEY_FIELDS, type KeyedQuestion, questionKey } from '../../src/engine/decisions.ts';
import { Facts } from '../../src/engine/facts.ts';
import { type RawQuestion, readPermission, readQuestion, readSubject } from '../../src/engine/question.ts';
import type { Question } from '../../src/engine/types.ts';
import { FakeClock } from '../engine/fakes.ts';

const RUNS = { numRuns: process.env.USHER_LONG === '1' ? 200_000 : 3000 };

/** Letters that case folding or compatibility would take for ASCII ones, and what separates parts of keys and scopes. */
const LOOK_ALIKES = [
  '\u212a',
  '\u017f',
  '\u0130',
  '\u0131',
  '\uff41',
  '\u0430',
  '\u00df',
  '\u2024',
  '\uff20',
  '\u00a0',
  '\u200b',
  '\u0000',
  '\ud800',
  ':',
  '😀',
];
const character = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...'abkszKS019._-@+:/%'.split('')) },
  { weight: 1, arbitrary: fc.constantFrom(...LOOK_ALIKES) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
);
const text = fc.string({ unit: character, maxLength: 12 });
const edge = (max: number) =>
  fc.tuple(fc.integer({ min: -2, max: 2 }), fc.constantFrom('a', '😀', 'a.')).map(([d, unit]) => unit.repeat(max + d));
const PROTOTYPES = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'prototype'];

const email = fc.oneof(
  fc.tuple(text, text).map(([local, host]) => `${local}@${host}`),
  fc
    .tuple(fc.stringMatching(/^[a-z0-9.+]{1,8}$/), fc.stringMatching(/^[a-z0-9]{1,5}(\.[a-z0-9-]{1,5}){0,2}$/))
    .map((p) => p.join('@')),
  fc.constantFrom(...PROTOTYPES.map((name) => `${name}@example.com`)),
  edge(LIMITS.emailLocal).map((local) => `${local}@example.com`),
  edge(63).map((label) => `a@${label}.com`),
  edge(LIMITS.email - 10).map((host) => `a@example.${host}`),
  text,
);
const code = fc.oneof(
  fc.stringMatching(/^[a-z0-9]{1,4}([._:/-][a-zA-Z0-9]{1,4}){0,2}$/),
  fc.constantFrom(...PROTOTYPES),
  edge(LIMITS.slug),
  edge(LIMITS.permission),
  text,
);
const id = fc.oneof(text, fc.constantFrom(...PROTOTYPES), edge(LIMITS.resourceId), fc.string({ unit: 'binary' }));
const wild: fc.Arbitrary<RawQuestion> = fc.record({
  email,
  app: code,
  permission: code,
  resourceType: fc.oneof(fc.constant(''), code),
  resourceId: fc.oneof(fc.constant(''), id),
});
const GOOD: RawQuestion = {
  email: 'ada.k@example.com',
  app: 'shop',
  permission: 'Orders.read',
  resourceType: 'order',
  resourceId: 'a:7',
};
/** Anything at all, or something good in which at most two fields are anything. */
const rawQuestion = fc.oneof(
  wild,
  fc
    .tuple(wild, fc.subarray([...KEY_FIELDS], { maxLength: 2 }), fc.boolean())
    .map(([raw, fields, named]): RawQuestion => {
      const good = named ? GOOD : { ...GOOD, resourceType: '', resourceId: '' };
      return { ...good, ...Object.fromEntries(fields.map((field) => [field, raw[field]])) };
    }),
);

/** The same strictness, straight from the grammar. */
function expected(raw: RawQuestion): Question | null | 'refused' {
  const trimmed = raw.email.replace(/^[\t\n\v\f\r ]+/, '').replace(/[\t\n\v\f\r ]+$/, '');
  const limits = {
    app: LIMITS.slug,
    permission: LIMITS.permission,
    resourceType: LIMITS.slug,
    resourceId: LIMITS.resourceId,
  };
  const wrong = (value: string, max: number) => {
    const points = Array.from(value, (one) => one.codePointAt(0) ?? 0);
    const forbidden = (at: number) => at < 0x20 || (at >= 0x7f && at < 0xa0) || (at >= 0xd800 && at < 0xe000);
    return points.length > max || points.some(forbidden);
  };
  if (trimmed === '' || raw.app === '' || raw.permission === '') return 'refused';
  if (wrong(trimmed, LIMITS.email)) return 'refused';
  for (const [field, max] of Object.entries(limits))
    if (wrong(raw[field as keyof typeof limits], max)) return 'refused';
  if ((raw.resourceType === '') !== (raw.resourceId === '')) return 'refused';
  const address = normalizeEmail(raw.email);
  if (address === null || !isSlug(raw.app) || !isPermissionCode(raw.permission)) return null;
  if (raw.resourceType !== '' && !(isSlug(raw.resourceType) && isResourceId(raw.resourceId))) return null;
  return { ...raw, email: address };
}

function attempt<T>(read: () => T): T | 'refused' {
  try {
    return read();
  } catch (error) {
    if (error instanceof UsherError && error.code === 'BAD_REQUEST') return 'refused';
    throw error;
  }
}

describe('questions', () => {
  test('the fast pass accepts exactly what the grammar accepts', () => {
    let [read, denied, refused] = [0, 0, 0];
    fc.assert(
      fc.property(rawQuestion, (raw) => {
        const right = expected(raw);
        if (right === 'refused') refused++;
        else if (right === null) denied++;
        else read++;
        expect(attempt(() => readQuestion(raw))).toEqual(right);
      }),
      RUNS,
    );
    expect(Math.min(read, denied, refused)).toBeGreaterThan(RUNS.numRuns / 100);
  });

  test('a subject and a permission are read like in a question', () => {
    fc.assert(
      fc.property(rawQuestion, (raw) => {
        const whole = attempt(() => readQuestion(raw));
        const subject = attempt(() => readSubject(raw));
        const permission = attempt(() => readPermission(raw.permission));
        if (subject === 'refused' || permission === 'refused') expect(whole).toBe('refused');
        else if (subject === null || permission === null) expect(whole).toBeNull();
        else expect(whole).toEqual({ ...subject, permission });
      }),
      RUNS,
    );
  });

  test('reading is idempotent', () => {
    fc.assert(
      fc.property(rawQuestion, (raw) => {
        const once = attempt(() => readQuestion(raw));
        if (once !== null && once !== 'refused') expect(readQuestion(once)).toEqual(once);
      }),
      RUNS,
    );
  });

  test('addresses merge only by ASCII case and surrounding white space', () => {
    const folded = (address: string) =>
      address.replace(/^[\t\n\v\f\r ]+|[\t\n\v\f\r ]+$/g, '').replace(/[A-Z]/g, (letter) => letter.toLowerCase());
    const near = fc.tuple(email, character, fc.nat(20)).map(([address, one, at]) => {
      return [address, address.slice(0, at) + one + address.slice(at + 1)] as const;
    });
    fc.assert(
      fc.property(near, ([a, b]) => {
        const ask = (address: string) => {
          return attempt(() => readSubject({ email: address, app: 'a', resourceType: '', resourceId: '' }));
        };
        const [one, other] = [ask(a), ask(b)];
        if (one === null || other === null || one === 'refused' || other === 'refused') return;
        expect(one.email === other.email).toBe(folded(a) === folded(b));
      }),
      RUNS,
    );
  });

  test.each(LOOK_ALIKES)('%j stands for no letter of an address', (other) => {
    for (const address of [`${other}ate@example.com`, `k${other}te@example.com`, `kate@${other}xample.com`]) {
      const read = attempt(() => readSubject({ email: address, app: 'a', resourceType: '', resourceId: '' }));
      expect(read === null || read === 'refused').toBe(true);
    }
  });
});

describe('cache keys', () => {
  const part = fc.constantFrom('a', 'b', 'a.b', ...PROTOTYPES.slice(0, 1));
  const question: fc.Arbitrary<Question> = fc
    .record({
      email: part.map((local) => `${local}@example.com`),
      app: part,
      permission: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(':')),
      resource: fc.option(fc.record({ resourceType: part, resourceId: fc.stringMatching(/^[ab:.]{1,6}$/) })),
    })
    .map(({ resource, ...others }) => ({ ...others, ...(resource ?? { resourceType: '', resourceId: '' }) }))
    .map((raw) => readQuestion(raw))
    .filter((read) => read !== null);
  const joined = (q: Question) =>
    KEY_FIELDS.map((field) => (field === 'resourceId' ? q[field] : q[field].replaceAll(':', '%3A'))).join(':');

  function collides(keyOf: (question: KeyedQuestion) => string): boolean {
    const { failed } = fc.check(
      fc.property(question, question, fc.subarray([...KEY_FIELDS]), (a, b, changed) => {
        // Alike but for some of the fields, so that a key that lacks one, or runs two together, shows it.
        const c = { ...a };
        for (const field of changed) c[field] = b[field];
        if ((c.resourceType === '') !== (c.resourceId === '')) return;
        expect(keyOf(a) === keyOf(c)).toBe(KEY_FIELDS.every((field) => a[field] === c[field]));
      }),
      { ...RUNS, endOnFailure: true },
    );
    return failed;
  }

  test('no two questions share a key', () => {
    expect(collides(questionKey)).toBe(false);
  });

  test('a key has all fields in the documented order', () => {
    fc.assert(
      fc.property(question, (q) => expect(questionKey(q)).toBe(joined(q))),
      RUNS,
    );
    expect(KEY_FIELDS).toEqual(['email', 'app', 'permission', 'resourceType', 'resourceId']);
  });

  test.each(KEY_FIELDS)('a key without %s is detected', (left) => {
    expect(
      collides((q) =>
        KEY_FIELDS.filter((field) => field !== left)
          .map((field) => q[field])
          .join(':'),
      ),
    ).toBe(true);
  });

  test('what a plain join would run together has keys of its own, wherever the parts are divided', () => {
    const parts = fc.array(part, { minLength: 4, maxLength: 7 });
    fc.assert(
      fc.property(parts, (all) => {
        const asked = all.slice(2).map((_, at): Question => {
          const [permission, resourceId] = [all.slice(0, at + 1).join(':'), all.slice(at + 2).join(':')];
          return { email: 'a@b', app: 'a', permission, resourceType: all[at + 1] ?? '', resourceId };
        });
        expect(new Set(asked.map((q) => KEY_FIELDS.map((field) => q[field]).join(':'))).size).toBe(1);
        expect(new Set(asked.map(questionKey)).size).toBe(asked.length);
      }),
      RUNS,
    );
  });

  test('an id that looks like another type and id is another resource', () => {
    const base = { email: 'a@b', app: 'a', permission: 'p' };
    const ids = ['b:c', 'c', 'a:b:c', ':', '::', 'b'];
    const types = ['a', 'b', 'a.b'];
    const questions = types.flatMap((resourceType) => ids.map((resourceId) => ({ ...base, resourceType, resourceId })));
    expect(new Set(questions.map(questionKey)).size).toBe(questions.length);
  });

  test('prototype names are ordinary names in facts', () => {
    const sizes = { policies: 9, persons: 9, members: 9, bytes: 1e6, policyBytes: 1e6, ttlMs: 1000, tickMs: 0 };
    for (const name of PROTOTYPES) {
      const facts = new Facts({ clock: new FakeClock(), ...sizes });
      expect(facts.policy(name)).toBeUndefined();
      expect(facts.about(name)).toBeUndefined();
      facts.putPerson({ email: name, active: true, superadmin: false }, 1, 0);
      facts.putMember({ app: name, email: name, appId: null, admin: false, roleIds: [] }, 1, 0);
      expect([...(facts.about(name)?.members.keys() ?? [])]).toEqual([name]);
      for (const other of PROTOTYPES) if (other !== name) expect(facts.about(other)).toBeUndefined();
    }
  });
});
