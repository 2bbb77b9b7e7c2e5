import { afterEach, describe, expect, test } from '@jest/globals';
import { UsherError } from '../../src/base/errors.ts';
import { Guesses } from '../../src/grpc/guesses.ts';
import { FakeClock } from '../engine/fake-clock.ts';
import { call, closeDoors, openClient, openDoor, QUESTION, refusalOf } from './support.ts';

afterEach(closeDoors);

const KEY = 'the-key-of-a-backend';
const authorize = (key: string | undefined) => {
  if (key !== KEY) throw new UsherError('UNAUTHENTICATED', 'Unknown internal API key.');
  return () => true;
};

describe('wrong keys a minute', () => {
  test('are counted for a connection, until the minute is over', async () => {
    const clock = new FakeClock();
    const connection = new Guesses({ perMinute: 3, trustProxy: false }, clock).open();
    for (let n = 0; n < 3; n++) connection.guessed('10.0.0.1');
    connection.check('10.0.0.1');
    await clock.advance(30_000);
    connection.guessed('10.0.0.2');
    expect(() => connection.check(undefined)).toThrow('More than 3 wrong keys in a minute');
    await clock.advance(30_000);
    connection.check(undefined);
  });

  test('are counted for an address only where a proxy says that it is the caller is behind it', () => {
    const clock = new FakeClock();
    const trusted = new Guesses({ perMinute: 2, trustProxy: true }, clock);
    // What stands before the last entry was sent by the caller.
    for (let n = 0; n < 3; n++) trusted.open().guessed(`203.0.113.${n}, 10.0.0.1`);
    expect(() => trusted.open().check('198.51.100.7,10.0.0.1')).toThrow(UsherError);
    trusted.open().check('10.0.0.1, 10.0.0.2');
    trusted.open().check(undefined);
    for (let n = 0; n < 3; n++) trusted.open().guessed(`2001:db8:1:1::${n}`);
    expect(() => trusted.open().check('2001:db8:1:1:ffff::')).toThrow(UsherError);

    const direct = new Guesses({ perMinute: 2, trustProxy: false }, clock);
    for (let n = 0; n < 3; n++) direct.open().guessed('10.0.0.1');
    direct.open().check('10.0.0.1');
  });

  test('of one connection lock out its next key, right ones too, and no other connection', async () => {
    const door = await openDoor({ authorize, guesses: { perMinute: 3, trustProxy: false } });
    const [guesser, other] = [openClient(door.port), openClient(door.port)];
    const ask = (client: typeof guesser, key: string) =>
      call(client, 'Check', QUESTION, { metadata: { 'x-internal-api-key': key } });
    for (let n = 0; n < 4; n++) expect((await refusalOf(ask(guesser, `guess-${n}`))).status).toBe(16);
    const refused = await refusalOf(ask(guesser, KEY));
    expect(refused).toMatchObject({ status: 8, reason: 'RATE_LIMITED' });
    expect(Number(refused.retrySeconds)).toBeGreaterThan(0);
    expect((await ask(other, KEY)).message.allowed).toBe(true);
    // Callers without a key guess nothing.
    for (let n = 0; n < 10; n++) await refusalOf(call(other, 'Check', QUESTION));
    expect((await ask(other, KEY)).message.allowed).toBe(true);
  });

  test('of an address lock it out wherever it comes from', async () => {
    const door = await openDoor({ authorize, guesses: { perMinute: 3, trustProxy: true } });
    const ask = (key: string, from: string) =>
      call(openClient(door.port), 'Check', QUESTION, {
        metadata: { 'x-internal-api-key': key, 'x-forwarded-for': from },
      });
    for (let n = 0; n < 4; n++) expect((await refusalOf(ask(`guess-${n}`, '10.0.0.1'))).status).toBe(16);
    expect((await refusalOf(ask(KEY, '10.0.0.1'))).status).toBe(8);
    expect((await ask(KEY, '10.0.0.2')).message.allowed).toBe(true);
  });
});
