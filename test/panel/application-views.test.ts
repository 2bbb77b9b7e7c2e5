import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { contentOf, draftOf, placesOf } from '../../panel/src/places/applications/messages/draft.ts';
import {
  missingIn,
  objectIn,
  sampleOf,
  variablesIn,
  variantOf,
} from '../../panel/src/places/applications/messages/variants.ts';
import { givenIn, manifestOf } from '../../panel/src/places/applications/people/assignments.ts';
import { differences } from '../../panel/src/places/applications/people/chosen.ts';
import {
  changesOf,
  choicesOf,
  isAddress,
  permissionsOf,
  wishesOf,
} from '../../panel/src/places/applications/records/choices.ts';
import { examine } from '../../panel/src/places/ask/playground/service.ts';

describe('roles for many people', () => {
  const application = {
    code: 'atelier',
    name: 'Atelier',
    description: null,
    supportedLanguages: ['en'],
    strictCodes: true,
    tellEndings: true,
  };

  test('are a manifest of assignments that leaves the application as it is', () => {
    expect(manifestOf(application, [{ code: 'guest' }], ['ann@example.com'])).toEqual({
      application,
      assignments: [{ email: 'ann@example.com', roles: ['guest'] }],
    });
  });

  test('are taken back from those alone who were given them', () => {
    const given = givenIn([
      { action: 'create', kind: 'assignment', after: { email: 'ann@example.com', role: 'guest' } },
      { action: 'create', kind: 'assignment', after: { email: 'ben@example.com', role: 'guest' } },
      { action: 'change', kind: 'application', after: { code: 'atelier' } },
    ]);
    expect([...given]).toEqual([['guest', ['ann@example.com', 'ben@example.com']]]);
  });

  test('differ by what is added and what is removed', () => {
    expect(differences(new Set(['a', 'b']), new Set(['b', 'c']))).toEqual({ added: ['c'], removed: ['a'] });
  });
});

describe('the choices of an override editor', () => {
  const stored = [
    { code: 'project.access', granted: false, accessLevel: null },
    { code: 'project.archive', granted: true, accessLevel: 'allowed' as const },
  ];

  test('are what is stored, and back', () => {
    const choices = choicesOf(stored);
    expect(choices).toEqual({ 'project.access': 'denied', 'project.archive': 'allowed' });
    expect(permissionsOf({ ...choices, 'document.access': '' })).toEqual([
      { permission: 'project.access', granted: false, accessLevel: null },
      { permission: 'project.archive', granted: true, accessLevel: 'allowed' },
    ]);
  });

  test('differ by permission', () => {
    const after = { 'project.access': 'view', 'project.archive': '' } as const;
    expect(changesOf(choicesOf(stored), after)).toEqual([
      { permission: 'project.access', from: 'denied', to: 'view' },
      { permission: 'project.archive', from: 'allowed', to: '' },
    ]);
  });

  test('are wished for in an address, and nonsense there is ignored', () => {
    expect(wishesOf('project.access:view,read:orders:denied,project.archive:,x,y:all')).toEqual({
      'project.access': 'view',
      'read:orders': 'denied',
      'project.archive': '',
    });
  });

  test.each([
    ['ann@example.com', true],
    ['ann@', false],
    ['ann@example', false],
    ['', false],
  ])('ask about %j: %j', (text, whole) => {
    expect(isAddress(text)).toBe(whole);
  });
});

describe('templates', () => {
  const languages = [
    { code: 'en', fallback: null },
    { code: 'cs', fallback: 'en' },
    { code: 'sk', fallback: 'cs' },
    { code: 'x', fallback: 'y' },
    { code: 'y', fallback: 'x' },
  ];

  test.each([
    ['cs', ['cs', 'en'], 'cs'],
    ['sk', ['cs', 'en'], 'cs'],
    ['sk', ['en', 'de'], 'en'],
    ['sk', ['fr', 'de'], 'de'],
    ['x', ['en', 'de'], 'en'],
    ['cs', [], null],
  ])('in %s, where %j is written, are sent in %j', (locale, written, sent) => {
    expect(variantOf(locale, new Set(written), languages)).toBe(sent);
  });

  test('name the members of the payload that they use, not what the service gives and not their own', () => {
    const html =
      '{{ user.firstName }} {{ number }} {{- payload.order.id | upcase }}{% for item in order.items %}{{ item.name }}{% endfor %}' +
      '{% if paid and amount > 3 %}{{ number }}{% endif %}{% assign total = amount %}{{ total }}';
    expect(variablesIn([html]).sort()).toEqual(['amount', 'number', 'order.id', 'order.items', 'paid']);
  });

  test('have a sample payload that lacks nothing', () => {
    const variables = ['number', 'order.id', 'order.items'];
    expect(sampleOf(variables)).toEqual({ number: 'number', order: { id: 'id', items: 'items' } });
    expect(missingIn(sampleOf(variables), variables)).toEqual([]);
    expect(missingIn({ order: { id: 1 } }, variables)).toEqual(['number', 'order.items']);
  });

  test('take an object as payload and nothing else', () => {
    expect(['', '{"a": 1}', '[1]', '3', '{'].map(objectIn)).toEqual([{}, { a: 1 }, null, null, null]);
  });

  test('are drafted and stored without loss', () => {
    const content = { subject: 'S', html: '<p>', text: null, pushTitle: 'T', pushBody: null, url: null };
    expect(contentOf(draftOf({ ...content, requiredVariables: ['a', 'b'] }))).toEqual({
      ...content,
      requiredVariables: ['a', 'b'],
    });
    const issues = [
      { path: 'html', message: 'does not parse', line: 2, column: 3 },
      { path: 'subject', message: 'x' },
    ];
    expect(placesOf(issues, 'html')).toEqual([{ message: 'does not parse', line: 2, column: 3 }]);
  });
});

test("the panel's reader finds no fault in the demonstration, and names the line of one", () => {
  const demo = readFileSync(new URL('../../examples/demo.yaml', import.meta.url), 'utf8');
  expect(examine(demo).issues).toEqual([]);
  const line = demo.split('\n').findIndex((text) => text.includes('type: tiered')) + 1;
  const [issue] = examine(demo.replace('type: tiered', 'type: tired')).issues;
  expect([issue?.line, issue?.path]).toEqual([line, 'permissions.0.type']);
});
