import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { passwordContext, Sealing } from '../../src/brands/sealing.ts';

const [older, newer] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];

describe('sealed secrets', () => {
  const sealing = new Sealing([newer, older], systemClock);

  test('a sealed secret opens in its own context, and sealing twice gives different texts', () => {
    const [one, two] = [sealing.seal(passwordContext(1), 'sécret'), sealing.seal(passwordContext(1), 'sécret')];
    expect(sealing.open(passwordContext(1), one)).toBe('sécret');
    expect(one.text).not.toBe(two.text);
    expect(one.key).toBe(sealing.current);
    expect(sealing.openText('x', sealing.sealText('x', ''))).toBe('');
  });

  test('a sealed secret does not open for another brand, with another key, or with a changed byte', () => {
    const sealed = sealing.seal(passwordContext(1), 'secret');
    expect(sealing.open(passwordContext(2), sealed)).toBeNull();
    expect(new Sealing([older], systemClock).open(passwordContext(1), sealed)).toBeNull();
    const bytes = Buffer.from(sealed.text, 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(sealing.open(passwordContext(1), { ...sealed, text: changed.toString('base64url') })).toBeNull();
    }
    for (const text of ['', 'AAAA', '*', bytes.subarray(0, 20).toString('base64url')]) {
      expect(sealing.open(passwordContext(1), { ...sealed, text })).toBeNull();
    }
    for (const text of ['', '.', 'a.b.c', sealed.text]) expect(sealing.openText('x', text)).toBeNull();
  });

  test('a secret sealed with an older key still opens', () => {
    const old = new Sealing([older], systemClock);
    const sealed = old.seal('x', 'secret');
    expect(sealing.open('x', sealed)).toBe('secret');
    expect([sealing.knows(sealed.key), sealing.current === sealed.key]).toEqual([true, false]);
    expect(new Sealing([], systemClock).current).toBeNull();
    const renewed = sealing.renewText('x', old.sealText('x', 'secret')) ?? '';
    expect(new Sealing([newer], systemClock).openText('x', renewed)).toBe('secret');
    expect([sealing.renewText('x', renewed), sealing.renewText('y', old.sealText('x', ''))]).toEqual([null, null]);
  });
});
