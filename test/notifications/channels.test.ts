import { describe, expect, test } from '@jest/globals';
import { channelsFor, type RecipientSwitches, type TypeSwitches } from '../../src/notifications/channels.ts';
import { isTarget } from '../../src/notifications/urls.ts';
import { missingVariables } from '../../src/notifications/variables.ts';
import { chooseVariant } from '../../src/notifications/variant.ts';

const BOTH = [false, true];
const CHOICES = [null, false, true];

describe('channels of a notification', () => {
  // "E-mail goes out when the type's emailEnabled, the user's email switch and the application switch are on; push likewise and
  // when a subscription exists." "For types with userCanDisable = false the switches are the type's own defaults; the application's
  // switch does not count for them."
  const cases: [TypeSwitches, RecipientSwitches][] = [];
  for (const emailEnabled of BOTH)
    for (const pushEnabled of BOTH)
      for (const userCanDisable of BOTH)
        for (const defaultEmail of BOTH)
          for (const defaultPush of BOTH)
            for (const active of BOTH)
              for (const application of BOTH)
                for (const email of CHOICES)
                  for (const push of CHOICES)
                    for (const subscribed of BOTH)
                      cases.push([
                        { emailEnabled, pushEnabled, userCanDisable, defaultEmail, defaultPush },
                        { active, application, email, push, subscribed },
                      ]);

  test(`the ${cases.length} combinations of switches follow the reference`, () => {
    expect(cases).toHaveLength(2304);
    for (const [type, user] of cases) {
      const locked = !type.userCanDisable;
      const emailSwitch = user.email === null || locked ? type.defaultEmail : user.email;
      const pushSwitch = user.push === null || locked ? type.defaultPush : user.push;
      const mail = type.emailEnabled && emailSwitch && (locked || user.application);
      const push = type.pushEnabled && pushSwitch && (locked || user.application) && user.subscribed;
      const decided = channelsFor(type, user);
      if (!user.active) expect(decided).toEqual({ suppressed: 'user_inactive' });
      else if (!user.application && !locked) expect(decided).toEqual({ suppressed: 'notifications_disabled' });
      else expect(decided).toEqual({ suppressed: null, email: mail, push });
    }
  });
});

describe('the variant for a reader', () => {
  const fallbacks = new Map([
    ['sk', 'cs'],
    ['cs', 'en'],
    ['pt-br', 'pt'],
    ['aa', 'bb'],
    ['bb', 'aa'],
  ]);
  test.each([
    [['en', 'cs', 'sk'], 'sk', 'sk'],
    [['en', 'cs'], 'sk', 'cs'],
    [['en', 'de'], 'sk', 'en'],
    [['de', 'fr'], 'sk', 'de'],
    [['fr', 'de', 'en'], 'xx', 'en'],
    [['fr', 'de'], 'xx', 'de'],
    [['en', 'pt'], 'pt-br', 'pt'],
    [['zz'], 'aa', 'zz'],
    [['bb', 'en'], 'aa', 'bb'],
    [[], 'en', undefined],
  ])('the variants %j give a reader of %s the variant %s', (locales, wanted, chosen) => {
    const variants = locales.map((locale) => ({ locale }));
    expect(chooseVariant(variants, wanted, fallbacks)?.locale).toBe(chosen);
  });
});

describe('missing variables of a payload', () => {
  const payload = { number: 0, empty: '', nothing: null, order: { id: 1, gone: null }, 'a.b': 'dotted' };
  test.each([
    [['number', 'empty', 'order', 'order.id', 'a.b', 'payload.number'], []],
    [
      ['nothing', 'absent', 'absent'],
      ['absent', 'nothing'],
    ],
    [
      ['order.gone', 'order.id.deep', 'number.deep'],
      ['number.deep', 'order.gone', 'order.id.deep'],
    ],
    [
      ['constructor', 'order.constructor', '__proto__'],
      ['__proto__', 'constructor', 'order.constructor'],
    ],
    [['user.email', 'brand.name', 'app', 'locale'], []],
  ])('the missing variables of %j are %j', (required, missing) => {
    expect(missingVariables(required, payload)).toEqual(missing);
  });
});

describe('URLs of notifications', () => {
  test.each([
    ['https://app.example.com/x?y#z', true],
    ['http://app.example.com/', true],
    ['/invoices/7?tab=1', true],
    ['/', true],
    ['//evil.example.com/', false],
    ['/\\evil.example.com', false],
    ['javascript:alert(1)', false],
    ['data:text/html,x', false],
    ['https://user:secret@example.com/', false],
    ['invoices/7', false],
    ['/a b', false],
    ['/a\u0000b', false],
    [`/${'a'.repeat(2048)}`, false],
    ['', false],
  ])('a notification may lead to %j: %s', (text, allowed) => {
    expect(isTarget(text, true)).toBe(allowed);
  });
  test('a notification leads to http only outside production', () => {
    expect(isTarget('http://app.example.com/', false)).toBe(false);
  });
});
