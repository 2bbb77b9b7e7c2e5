import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isLanguageCode } from '../../src/base/grammar.ts';
import { directionOf, languageCodes } from '../../src/base/language-tags.ts';

/** The first code of a locale that a registry has. */
const nearest = (locale: string, registry: readonly string[]) =>
  languageCodes(locale).find((code) => registry.includes(code)) ?? null;

describe('the codes of a locale', () => {
  test.each([
    ['cs', ['cs'], 'cs'],
    ['CS_cz', ['cs'], 'cs'],
    ['zh-TW', ['zh-hans', 'zh-hant'], 'zh-hant'],
    ['zh-HK', ['zh-hans', 'zh-hant', 'zh'], 'zh-hant'],
    ['zh-Hant-HK', ['zh-hant-hk', 'zh-hant'], 'zh-hant-hk'],
    ['zh-TW', ['zh-tw', 'zh-hant'], 'zh-tw'],
    ['zh-CN', ['zh-hans', 'zh-hant'], 'zh-hans'],
    ['zh', ['zh-hans'], 'zh-hans'],
    ['zh-TW', ['zh'], 'zh'],
    ['sr-RS', ['sr-latn', 'sr'], 'sr'],
    ['sr-Latn-RS', ['sr-latn', 'sr'], 'sr-latn'],
    ['sr-Latn', ['sr'], 'sr'],
    ['es-419', ['es-419', 'es'], 'es-419'],
    ['es-MX', ['es'], 'es'],
    ['pt', ['pt-br'], 'pt-br'],
    ['pt-BR', ['pt', 'pt-br'], 'pt-br'],
    ['no-NO', ['nb'], 'nb'],
    ['no-NO', ['no', 'nb'], 'no'],
    ['nb-NO', ['no'], 'no'],
    ['de-Latn-AT', ['de'], 'de'],
    ['de-DE-1996', ['de'], 'de'],
    ['ca-ES-valencia', ['ca'], 'ca'],
    ['en-US-u-ca-buddhist', ['en'], 'en'],
    ['iw-IL', ['he'], 'he'],
    ['in', ['id'], 'id'],
    ['tl', ['fil'], 'fil'],
    ['cmn-TW', ['zh-hant'], 'zh-hant'],
    ['fr-CA', ['en', 'cs'], null],
    ['x', ['x'], null],
    ['', ['en'], null],
    ['not a language', ['en'], null],
  ])('%s among %j is %j', (locale, registry, code) => {
    expect(nearest(locale, registry)).toBe(code);
  });

  test('hold the code itself first, whatever the code', () => {
    const part = (pattern: RegExp) => fc.oneof(fc.constant(''), fc.stringMatching(pattern));
    const code = fc
      .tuple(fc.stringMatching(/^[a-z]{2,3}$/), part(/^-[a-z]{4}$/), part(/^-([a-z]{2}|[0-9]{3})$/))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(code, (one) => {
        expect(isLanguageCode(one)).toBe(true);
        expect(languageCodes(one)[0]).toBe(one);
        expect(languageCodes(one.toUpperCase().replaceAll('-', '_'))[0]).toBe(one);
      }),
    );
  });

  test('are codes, for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 100 })), (text) => {
        expect(languageCodes(text).filter((code) => !isLanguageCode(code))).toEqual([]);
      }),
    );
  });

  test.each([
    ['ar', 'rtl'],
    ['he', 'rtl'],
    ['fa-ir', 'rtl'],
    ['az-arab', 'rtl'],
    ['pa-pk', 'rtl'],
    ['en', 'ltr'],
    ['zh-hant', 'ltr'],
    ['ar-latn', 'ltr'],
    ['', 'ltr'],
    ['not a tag', 'ltr'],
  ])('%j is read %s', (locale, direction) => expect(directionOf(locale)).toBe(direction));
});
