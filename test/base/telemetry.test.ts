import { Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { BufferedLines, createLogger, FailureLog, REQUEST_LINE, requestId } from '../../src/base/telemetry.ts';

function logged(level: string, write: (log: ReturnType<typeof createLogger>) => void): string {
  let text = '';
  const sink = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  write(createLogger(level, sink));
  return text;
}

describe('logs', () => {
  test('a log line is one JSON object with an ISO time and a named level', () => {
    const line = JSON.parse(logged('info', (log) => log.info({ requestId: 'abcdefgh' }, 'ready')));
    expect(line).toMatchObject({ level: 'info', msg: 'ready', requestId: 'abcdefgh' });
    expect(new Date(line.time).toISOString()).toBe(line.time);
  });

  test.each([
    { authorization: 'Bearer canary' },
    {
      headers: {
        authorization: 'canary',
        'x-internal-api-key': 'canary',
        'x-webhook-secret': 'canary',
        'idp-signature': 'canary',
        'zitadel-signature': 'canary',
      },
    },
    { request: { headers: { cookie: 'canary', 'x-internal-api-key': 'canary' } } },
    { smtp: { password: 'canary' } },
    { oauth2: { clientSecret: 'canary', refreshToken: 'canary', accessToken: 'canary' } },
    { token: 'canary', secretKey: 'canary', signingKey: 'canary', apiKey: 'canary' },
  ])('a log line masks secrets at any depth: %j', (fields) => {
    const text = logged('info', (log) => log.info(fields, 'x'));
    expect(text).toContain('***');
    expect(text).not.toContain('canary');
  });

  test('a logged error keeps its causes, each with only name, message, code and stack', () => {
    const cause = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED', parameters: ['canary'] });
    const text = logged('info', (log) => log.error({ err: new Error('away', { cause }) }, 'x'));
    expect(JSON.parse(text).err).toMatchObject({
      message: 'away',
      cause: { code: 'ECONNREFUSED', message: 'connection refused' },
    });
    expect(text).not.toContain('canary');
  });
});

describe('request lines', () => {
  const gathered = () => {
    const writes: string[] = [];
    const lines = new BufferedLines({ write: (text) => void writes.push(text) });
    const log = createLogger('info', lines);
    const messages = () =>
      writes.map((text) =>
        text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line).n),
      );
    return { log, lines, messages };
  };
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  test('request lines of one turn leave in one write, in order', async () => {
    const { log, messages } = gathered();
    log.info({ n: 1 }, REQUEST_LINE);
    log.info({ n: 2 }, REQUEST_LINE);
    expect(messages()).toEqual([]);
    await turn();
    log.info({ n: 3 }, REQUEST_LINE);
    await turn();
    await turn();
    expect(messages()).toEqual([[1, 2], [3]]);
  });

  test('request lines leave before any other line, which is written at once, and when the process exits', async () => {
    const { log, lines, messages } = gathered();
    log.info({ n: 1 }, REQUEST_LINE);
    log.error({ n: 2 }, 'trouble');
    expect(messages()).toEqual([[1, 2]]);
    log.child({ n: 3 }).info({}, 'of a child');
    log.info({ n: 4 }, REQUEST_LINE);
    lines.flush();
    expect(messages()).toEqual([[1, 2], [3], [4]]);
    await turn();
    expect(messages()).toHaveLength(3);
  });
});

describe('request ids', () => {
  test.each(['abcdefgh', 'A-b_c.1234', 'x'.repeat(64)])('the request id %j is kept', (id) =>
    expect(requestId(id)).toBe(id),
  );
  test.each([undefined, '', 'short', 'x'.repeat(65), 'with space', 'new\nline1', '<script>1'])(
    'the request id %j is replaced',
    (id) => {
      const made = requestId(id);
      expect(made).not.toBe(id);
      expect(made).toMatch(/^[A-Za-z0-9._-]{8,64}$/);
      expect(requestId(id)).not.toBe(made);
    },
  );
});

describe('repeated attempts', () => {
  const failures = (act: (log: FailureLog, pass: (ms: number) => void) => void): string[] => {
    let now = 0;
    const clock = { ...systemClock, monotonic: () => now };
    const text = logged('info', (log) => {
      const failureLog = new FailureLog({ log, clock, failing: 'failing', working: 'working' });
      act(failureLog, (ms) => {
        now += ms;
      });
    });
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.map((line) => {
      const { msg, err } = JSON.parse(line) as { msg: string; err?: { message: string } };
      return err === undefined ? msg : `${msg}: ${err.message}`;
    });
  };

  test('each failure cause is logged once until it recovers', () => {
    const told = failures((log) => {
      log.succeeded();
      for (const cause of ['a', 'a', 'b', 'a', 'b']) log.failed(new Error(cause));
      log.succeeded();
      log.succeeded();
    });
    expect(told).toEqual(['failing: a', 'failing: b', 'working']);
  });

  test('a recurring failure cause is logged at most every ten seconds', () => {
    const told = failures((log, pass) => {
      for (let second = 0; second <= 20; second++) {
        log.failed(new Error('full'));
        log.succeeded();
        pass(1000);
      }
    });
    expect(told).toEqual(['failing: full', 'working', 'failing: full', 'working', 'failing: full', 'working']);
  });
});
