import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TIME_ZONE_NAMES } from '../../src/base/time-zone-names.ts';
import { timeZoneOf } from '../../src/base/time-zones.ts';
import { namesOfIana } from './iana.ts';

/** The characters of a text, each in a case of its own. */
const inAnyCase = (text: string) =>
  fc
    .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
    .map((upper) => Array.from(text, (one, at) => (upper[at] ? one.toUpperCase() : one.toLowerCase())).join(''));

describe('time zones', () => {
  test('the list is that of the installed release of IANA (npm run generate)', () => {
    expect(TIME_ZONE_NAMES.trim().split(/\s+/)).toEqual(namesOfIana());
    expect(namesOfIana().length).toBeGreaterThan(590);
  });

  test('each name and link is taken in any case, in the spelling of IANA', () => {
    const spelled = fc.constantFrom(...namesOfIana()).chain((name) => fc.tuple(fc.constant(name), inAnyCase(name)));
    fc.assert(fc.property(spelled, ([name, text]) => expect(timeZoneOf(text)).toBe(name)));
    for (const name of namesOfIana()) expect(timeZoneOf(name)).toBe(name);
  });

  test.each(['UTC', 'GMT', 'EST', 'MST', 'HST', 'Etc/GMT+5', 'Etc/UTC', 'Asia/Calcutta', 'Europe/Kyiv', 'US/Pacific'])(
    '%s is a zone',
    (name) => expect(timeZoneOf(name)).toBe(name),
  );

  // Of ICU: https://unicode-org.github.io/icu/userguide/datetime/timezone, and forms that Intl takes.
  test.each(
    'ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT IET IST JST MIT NET NST PLT PNT PRT PST SST VST'
      .split(' ')
      .concat([
        'SystemV/PST8',
        'US/Pacific-New',
        'Etc/Unknown',
        'Factory',
        '+01:00',
        'GMT+5',
        'Mars/Olympus',
        '',
        ' UTC',
      ]),
  )('%j is refused, though ICU may take it', (name) => expect(timeZoneOf(name)).toBeNull());

  test('a letter that only folds to one of a name is not that letter', () => {
    for (const text of ['Asia/\u212Aolkata', 'E\u017Ft', 'A\u017Fia/Tokyo', '\u0130ran', 'Europe/K\u0131ev'])
      expect(timeZoneOf(text)).toBeNull();
  });
});
