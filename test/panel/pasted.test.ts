import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pastedIn } from '../../panel/src/parts/addresses.ts';
import { codeOf, named } from '../../panel/src/parts/code-of.ts';

const ADDRESS = fc.stringMatching(/^[a-z]{1,8}@[a-z]{1,8}\.[a-z]{2,4}$/);
const NO_ADDRESS = fc.oneof(fc.stringMatching(/^[a-zá-ž]{1,8}$/), fc.stringMatching(/^[a-z]{1,5}@[a-z]{1,5}$/));
const SEPARATOR = fc.constantFrom(' ', ', ', '; ', '\n', '\t');

describe('pasted people', () => {
  test('are read out of a mail, a table and a list, each once and in lower case, with their names', () => {
    const pasted =
      '"Novák, Ben" <Ben@Example.com>; ann@example.com,\tmailto:carl@example.com.\nANN@example.com\nEva Nová <eva@example.com>';
    const { emails, names, repeated, unread } = pastedIn(pasted);
    expect(emails).toEqual(['ben@example.com', 'ann@example.com', 'carl@example.com', 'eva@example.com']);
    expect([...names]).toEqual([
      ['ben@example.com', 'Novák, Ben'],
      ['eva@example.com', 'Eva Nová'],
    ]);
    expect([repeated, unread]).toEqual([1, []]);
  });

  test('that are no addresses are all named, as they stand', () => {
    expect(pastedIn('zoe@example, @x.cz, a@b@c.cz and Ben').unread).toEqual([
      'zoe@example',
      '@x.cz',
      'a@b@c.cz',
      'and',
      'Ben',
    ]);
    expect(pastedIn('ada@example.com ben')).toMatchObject({ emails: ['ada@example.com'], unread: ['ben'] });
    expect(pastedIn('Ben <ben@example>').unread).toEqual(['Ben', '<ben@example>']);
    expect(pastedIn(' \n ')).toMatchObject({ emails: [], unread: [] });
  });

  test('vanish never: whatever the words and what stands between them, each is taken or named', () => {
    const words = fc.array(fc.tuple(fc.oneof(ADDRESS, NO_ADDRESS), SEPARATOR), { maxLength: 20 });
    fc.assert(
      fc.property(words, (pairs) => {
        const text = pairs.map(([word, separator]) => word + separator).join('');
        const isAddress = (word: string) => /@.*\./.test(word);
        const { emails, unread } = pastedIn(text);
        expect(unread).toEqual(pairs.map(([word]) => word).filter((word) => !isAddress(word)));
        expect(new Set(emails)).toEqual(new Set(pairs.map(([word]) => word).filter(isAddress)));
        for (const word of unread) expect(text).toContain(word);
      }),
    );
  });

  test('never throw, whatever the text, and are read in linear time', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => pastedIn(text).repeated >= 0));
    const started = performance.now();
    for (const one of ['<', '"', 'a ', ',', 'a@', '('].values()) pastedIn(one.repeat(50_000));
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe('a code', () => {
  test('is made of the name until another was typed', () => {
    expect(['Help desk', ' Žluťoučký  kůň! ', 'R&D', '日本', 'x'.repeat(99)].map(codeOf)).toEqual([
      'help-desk',
      'zlutoucky-kun',
      'r-d',
      '',
      'x'.repeat(64),
    ]);
    expect(named({ name: 'Help', code: 'help' }, 'Help desk')).toEqual({ name: 'Help desk', code: 'help-desk' });
    expect(named({ name: '', code: 'own' }, 'Help')).toEqual({ name: 'Help', code: 'own' });
  });

  test('has the form that the service asks for', () => {
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (name) => /^([a-z0-9]+(-[a-z0-9]+)*)?$/.test(codeOf(name))));
  });
});
