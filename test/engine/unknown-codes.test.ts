import { describe, expect, test } from '@jest/globals';
import { compilePolicy } from '../../src/engine/policy.ts';
import { OTHER_APPS, UnknownCode, UnknownCodes } from '../../src/engine/unknown-codes.ts';
import type { Operation } from '../oracle/rows.ts';
import { ADA, ask, FakeClock, fixture } from './fakes.ts';

const HOUR_MS = 3_600_000;

function parts() {
  const lines: object[] = [];
  const warn = (fields: object, message: string) => void lines.push({ ...fields, message });
  const clock = new FakeClock();
  const codes = new UnknownCodes(clock, { warn });
  return { clock, codes, lines };
}

const policy = (app: string, strictCodes = false) =>
  compilePolicy({
    app,
    appId: 1,
    strictCodes,
    resourceTypes: ['book'],
    permissions: [{ id: 1, code: 'book.read', tiered: false, global: false, groupName: null }],
    rolePermissions: [],
  });

describe('lines about unknown codes', () => {
  test('each unknown code is logged once an hour with the nearest known one', () => {
    const { clock, codes, lines } = parts();
    const ask = () => {
      codes.permission(policy('shop'), 'bok.read');
      codes.checkType(policy('shop'), 'bok');
      codes.permission(policy('shop'), 'reports.delete');
    };
    ask();
    ask();
    const message = 'question has an unknown code';
    const hour = [
      { app: 'shop', kind: 'permission', code: 'bok.read', nearest: 'book.read', message },
      { app: 'shop', kind: 'resource_type', code: 'bok', nearest: 'book', message },
      { app: 'shop', kind: 'permission', code: 'reports.delete', nearest: null, message },
    ];
    expect(lines).toEqual(hour);
    clock.time += HOUR_MS - 1;
    ask();
    expect(lines).toHaveLength(3);
    clock.time += 1;
    ask();
    expect(lines).toEqual([...hour, ...hour]);
  });

  test('more than a thousand unknown codes in an hour are summarized in one line', () => {
    const { clock, codes, lines } = parts();
    for (let i = 0; i < 3000; i++) codes.permission(policy('shop'), `made.up.${i}`);
    expect(lines).toHaveLength(1001);
    expect(lines.at(-1)).toEqual({ logged: 1000, message: 'unknown codes exceed the hourly log limit' });
    clock.time += HOUR_MS;
    codes.permission(policy('shop'), 'made.up.2999');
    expect(lines).toHaveLength(1002);
    expect([...codes.counts()]).toEqual([{ app: 'shop', kind: 'permission', count: 3001 }]);
  });

  test("a strict application's unknown codes are logged and counted, too", () => {
    const { codes, lines } = parts();
    for (let i = 0; i < 2; i++) expect(() => codes.permission(policy('shop', true), 'bok.read')).toThrow(UnknownCode);
    expect(lines).toHaveLength(1);
    expect([...codes.counts()]).toEqual([{ app: 'shop', kind: 'permission', count: 2 }]);
  });
});

describe('counts of unknown codes', () => {
  test('defined codes, and codes of unknown applications, are not counted', () => {
    const { codes, lines } = parts();
    codes.permission(policy('shop'), 'book.read');
    codes.checkType(policy('shop'), 'book');
    codes.checkType(policy('shop'), '');
    const none = {
      app: 'none',
      appId: null,
      strictCodes: false,
      resourceTypes: [],
      permissions: [],
      rolePermissions: [],
    };
    codes.permission(compilePolicy(none), 'book.read');
    codes.checkType(compilePolicy(none), 'book');
    expect([...codes.counts()]).toEqual([]);
    expect(lines).toEqual([]);
  });

  test('an empty catalog accepts every type', () => {
    const { codes } = parts();
    const open = compilePolicy({
      app: 'shop',
      appId: 1,
      strictCodes: true,
      resourceTypes: [],
      permissions: [],
      rolePermissions: [],
    });
    codes.checkType(open, 'anything');
    expect([...codes.counts()]).toEqual([]);
  });

  test('thousands of deleted applications do not create unbounded labels', () => {
    const { codes } = parts();
    for (let i = 0; i < 10_050; i++) codes.permission(policy(`app-${i}`), 'x');
    const counts = [...codes.counts()];
    expect(counts).toHaveLength(10_001);
    expect(counts.at(-1)).toEqual({ app: OTHER_APPS, kind: 'permission', count: 50 });
  });
});

test('every question of the engine rejects an unknown code of a strict application, warm or cold', async () => {
  const { engine, source } = await fixture();
  const strict: Operation[] = [
    { kind: 'set-strict', app: 'shop', strict: true },
    { kind: 'define-entity', app: 'shop', entity: 'order' },
  ];
  source.database.write(strict);
  await engine.reach({ number: source.database.head, nonce: null });
  const subject = { email: ADA, app: 'shop', resourceType: 'odrer', resourceId: '1' };
  const global = { ...subject, resourceType: '', resourceId: '' };
  for (const temperature of ['cold', 'warm']) {
    const unknown = [
      engine.check(ask({ permission: 'raed' })),
      engine.check(ask({ resourceType: 'odrer', resourceId: '1' })),
      engine.bulk(global, ['read', 'raed']),
      engine.bulk(subject, ['read']),
      engine.effective(subject),
    ];
    const reasons = await Promise.allSettled(unknown);
    expect([temperature, ...reasons.map(({ status }) => status)]).toEqual([
      temperature,
      ...unknown.map(() => 'rejected'),
    ]);
    expect(reasons.map((reason) => (reason as PromiseRejectedResult).reason.known)).toEqual([
      'read',
      'order',
      'read',
      'order',
      'order',
    ]);
  }
  expect(() => engine.peek(ask({ permission: 'raed' }))).toThrow(UnknownCode);
  expect(() => engine.peekBulk(global, ['read', 'raed'])).toThrow(UnknownCode);
  expect(() => engine.peekBulk(subject, ['read'])).toThrow(UnknownCode);
  expect(() => engine.peekEffective(subject)).toThrow(UnknownCode);
  // Nothing of a refused question may be answered from the cache when the application stops being strict.
  expect(engine.sizes().decisions).toBe(1);
  source.database.write([{ kind: 'set-strict', app: 'shop', strict: false }]);
  await engine.reach({ number: source.database.head, nonce: null });
  expect((await engine.check(ask({ permission: 'raed' }))).decision.granted).toBe(false);
});
