import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Double, refusal } from './double.ts';
import { type Outcome, usher } from './harness.ts';

const double = new Double();
const other = new Double();
const TOKEN = `x.${Buffer.from('{"email":"clara@example.com","exp":1893456000}').toString('base64url')}.the-signature`;
const KEY = 'a-key-that-nobody-may-see';
let env: Record<string, string>;
let file: string;

beforeAll(() => Promise.all([double.start(), other.start()]));
afterAll(() => Promise.all([double.stop(), other.stop()]));
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'usher-config-'));
  env = { XDG_CONFIG_HOME: folder };
  file = join(folder, 'usher', 'contexts.json');
  for (const one of [double, other]) {
    one.received.length = 0;
    one.answer = () => ({ status: 200, body: { success: true, data: [] } });
  }
});

async function login(name: string, ...argv: string[]): Promise<Outcome> {
  return await usher(['login', name, '--url', double.url, ...argv], { env });
}

/** What a service received as whom: its last request. */
function asked(one: Double): unknown {
  const { authorization, 'x-internal-api-key': key } = one.received.at(-1)?.headers ?? {};
  return { authorization, key };
}

const UNASKED = { authorization: undefined, key: undefined };

describe('usher login', () => {
  test('login tests the credential once, then stores URL and credential privately', async () => {
    const { code, stdout } = await login('prod', '--token', TOKEN);
    expect(code).toBe(0);
    expect(stdout).toBe(
      `Now using prod: ${double.url} (credential: token of clara@example.com until 2030-01-01T00:00:00Z), stored in ${file}.\n`,
    );
    expect(double.received).toMatchObject([{ method: 'POST', url: '/api/profile/me/check' }]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(file, '..'))).toEqual(['contexts.json']);
    expect(readFileSync(file, 'utf8')).toContain(TOKEN);
  });

  test('login makes a readable file private again', async () => {
    await login('prod', '--key', KEY);
    writeFileSync(file, readFileSync(file), { mode: 0o644 });
    await login('staging', '--key', KEY);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('login reads a credential from standard input', async () => {
    const outcome = await usher(['login', 'prod', '--url', double.url, '--key', '-'], { env, stdin: `${KEY}\n` });
    expect(outcome.code).toBe(0);
    expect(asked(double)).toEqual({ authorization: undefined, key: KEY });
    expect((await usher(['login', 'prod', '--url', double.url, '--key', '-'], { env, stdin: '\n' })).stderr).toBe(
      'Standard input has no credential.\n',
    );
  });

  test('login stores nothing when the service refuses the credential', async () => {
    double.answer = () => refusal(401, 'UNAUTHENTICATED');
    expect((await login('prod', '--key', KEY)).code).toBe(1);
    expect((await usher(['context', 'list', '--json'], { env })).stdout).toBe('[]\n');
  });

  test('login stores a key without scope check', async () => {
    double.answer = () => refusal(403, 'FORBIDDEN', 'KEY_SCOPE');
    expect((await login('pipeline', '--key', KEY)).code).toBe(0);
  });

  test.each([
    [['login', 'prod'], /^Which service is prod\? Give its address: .*login prod --url https:/],
    [['login', 'prod', '--key', 'k'], /^Which service is prod\?/],
    [
      ['login', 'Prod'],
      '"Prod" is not a context name: lower-case letters and digits, joined by . _ or -, at most 64.\n',
    ],
    [
      ['login', 'prod', '--url', 'https://usher.example.com', '--token', 'a', '--key', 'b'],
      'A context holds a token or a key, not both: give one of them.\n',
    ],
    [
      ['login', 'prod', '--url', 'https://usher.example.com'],
      'Give a credential with --token or --key (- reads it from standard input).\n',
    ],
    [['login', 'prod', '--url', 'usher.example.com'], /^usher\.example\.com is not an http or https URL/],
    [
      ['login', 'prod', '--url', 'https://ada:canary@usher.example.com', '--key', 'k'],
      'The URL of the service contains a user name or a password: remove them, and give a credential with --token or --key.\n',
    ],
    [
      ['login', 'prod', '--url', 'https://usher.example.com/?tenant=1', '--key', 'k'],
      /^https:\/\/usher\.example\.com\/\?tenant=1 contains a query or a fragment/,
    ],
  ])('login refuses %j', async (argv, message) => {
    const { code, stderr } = await usher(argv, { env });
    expect(code).toBe(1);
    expect(stderr).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
  });

  test('login explains what to set when there is no configuration folder', async () => {
    const { code, stderr } = await usher(['login', 'prod', '--url', double.url, '--key', KEY], { env: {} });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'No folder for contexts: set XDG_CONFIG_HOME or HOME to a folder.\n',
    });
  });
});

describe('a stored context', () => {
  test('a stored context provides URL and credential to commands', async () => {
    await login('prod', '--key', KEY);
    await usher(['users'], { env });
    expect(asked(double)).toEqual({ authorization: undefined, key: KEY });
    await login('people', '--token', TOKEN);
    await usher(['users'], { env });
    expect(asked(double)).toEqual({ authorization: `Bearer ${TOKEN}`, key: undefined });
    await usher(['users', '--context', 'prod'], { env });
    expect(asked(double)).toEqual({ authorization: undefined, key: KEY });
    await usher(['users'], { env: { ...env, USHER_CONTEXT: 'prod' } });
    expect(asked(double)).toEqual({ authorization: undefined, key: KEY });
  });

  test('a stored credential goes to no other URL', async () => {
    await login('prod', '--key', KEY);
    await usher(['users', '--url', other.url], { env });
    expect(asked(other)).toEqual(UNASKED);
    await usher(['users'], { env: { ...env, USHER_URL: other.url } });
    expect(asked(other)).toEqual(UNASKED);
    expect(other.received).toHaveLength(2);
    const both = await usher(['users', '--context', 'prod', '--url', other.url], { env });
    expect(both.code).toBe(1);
    expect(both.stderr).toContain("option '--context <name>' cannot be used with option '--url <url>'");
  });

  test('a given credential overrides the stored one, and --context overrides the environment', async () => {
    await login('prod', '--key', KEY);
    await usher(['users', '--token', 'named'], { env });
    expect(asked(double)).toEqual({ authorization: 'Bearer named', key: undefined });
    await usher(['users'], { env: { ...env, USHER_TOKEN: 'of-env' } });
    expect(asked(double)).toEqual({ authorization: 'Bearer of-env', key: undefined });
    await usher(['users', '--context', 'prod'], { env: { ...env, USHER_TOKEN: 'of-env', USHER_URL: other.url } });
    expect(asked(double)).toEqual({ authorization: undefined, key: KEY });
    expect(other.received).toEqual([]);
  });

  test('no command prints a stored credential', async () => {
    const shown: Outcome[] = [await login('prod', '--key', KEY), await login('people', '--token', TOKEN)];
    for (const format of ['table', 'json', 'yaml']) {
      for (const argv of [
        ['context', 'list'],
        ['context', 'show', 'prod'],
        ['context', 'show'],
        ['context', 'use', 'people'],
        ['config'],
        ['context', 'remove', 'nobody'],
      ]) {
        shown.push(await usher([...argv, '-o', format], { env }));
      }
    }
    const text = JSON.stringify(shown);
    expect(text).toContain('token of clara@example.com');
    for (const secret of [KEY, TOKEN, 'the-signature']) expect(text).not.toContain(secret);
  });

  test('contexts can be listed, shown, chosen and removed', async () => {
    await login('prod', '--key', KEY);
    await login('staging', '--token', 'opaque');
    expect(
      (await usher(['context', 'list'], { env })).stdout.split('\n').map((line) => line.replace(/ +/g, ' ')),
    ).toEqual([' NAME URL CREDENTIAL', ` prod ${double.url} key`, `* staging ${double.url} token`, '']);
    expect((await usher(['context', 'use', 'prod'], { env })).code).toBe(0);
    expect(JSON.parse((await usher(['context', 'show', '--json'], { env })).stdout)).toEqual({
      name: 'prod',
      url: double.url,
      credential: 'key',
      current: true,
    });
    expect((await usher(['context', 'remove', 'prod'], { env })).stdout).toBe('Removed prod.\n');
    expect((await usher(['context', 'show'], { env })).stderr).toBe(
      'No context is in use; choose one with npm run --silent usher -- context use NAME.\n',
    );
    expect(readFileSync(file, 'utf8')).not.toContain(KEY);
    for (const argv of [
      ['context', 'use', 'prod'],
      ['context', 'remove', 'prod'],
      ['users', '--context', 'prod'],
    ]) {
      const { code, stderr } = await usher(argv, { env });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: 'Unknown context "prod": there are staging (npm run --silent usher -- login stores one).\n',
      });
    }
  });

  test.each(['{', '[]', '{"current": null, "contexts": [{"name": "constructor"}]}', '{"current": 1, "contexts": []}'])(
    'a contexts file with %s is refused',
    async (text) => {
      await login('prod', '--key', KEY);
      writeFileSync(file, text);
      const { code, stderr } = await usher(['users'], { env });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: `${file} is not a valid contexts file: remove it, then store the services again with npm run --silent usher -- login.\n`,
      });
    },
  );

  test('a context may have the name of an Object.prototype member', async () => {
    await login('constructor', '--key', KEY);
    await usher(['users', '--context', 'constructor'], { env });
    expect(asked(double)).toEqual({ authorization: undefined, key: KEY });
    expect((await usher(['users', '--context', 'tostring'], { env })).stderr).toMatch(/^Unknown context "tostring"/);
  });
});
