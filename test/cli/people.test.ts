import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { useRegistry } from '../support/registry.ts';
import { usher } from './harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'usher-people-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('usher people import', () => {
  const registry = useRegistry('postgresql', [
    'application: { code: shop, name: Shop }\nroles: [{ code: clerk }, { code: "eu:boss" }]',
  ]);
  const run = async (bytes: string | Buffer, ...more: string[]) => {
    const file = join(folder, 'staff.csv');
    writeFileSync(file, bytes);
    const token = await registry.usher.token('admin@example.com');
    return await usher(['people', 'import', file, '--url', registry.usher.rest, '--token', token, ...more], {
      env: {},
    });
  };

  test('imports columns in any order, quoted cells and a byte order mark', async () => {
    const text =
      '\ufeffroles,email,displayName\r\nshop/clerk  shop/eu:boss,Ada@example.com,"King, ""Ada"""\r\n\r\n,ben@example.com,\r\n';
    const dry = await run(text, '--dry-run');
    expect([dry.code, dry.stdout]).toEqual([
      0,
      'It would be: 2 created, 0 changed, 0 as they are; 2 roles given. Nothing was changed.\n',
    ]);
    const done = await run(text, '--json');
    expect([done.code, JSON.parse(done.stdout)]).toEqual([
      0,
      { dryRun: false, created: 2, changed: 0, kept: 0, rolesGiven: 2 },
    ]);
    const { data } = (await registry.root.get('/api/users?q=ada')).body;
    expect(data).toMatchObject([{ email: 'ada@example.com', displayName: 'King, "Ada"' }]);
    expect((await run(text)).stdout).toBe('0 created, 0 changed, 2 as they are; 0 roles given.\n');
  });

  test('tells every fault of a long file with its line, and imports nothing', async () => {
    const lines = Array.from({ length: 1200 }, (_, n) => `long${n}@example.com,shop/clerk,"two\nlines"`);
    lines[3] = 'nobody,shop/clerk,x';
    lines[700] = 'long700@example.com,shop/none nowhere/x,x';
    const { code, stderr } = await run(
      `email,roles,firstName\n${lines.slice(0, 1).join('')}\n`.replace('"two\nlines"', 'x'),
    );
    expect([code, stderr]).toEqual([0, expect.anything()]);
    const plain = lines.map((line) => line.replace('"two\nlines"', 'x'));
    const failed = await run(`email,roles,firstName\n${plain.join('\n')}\n`);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('staff.csv has 3 faults; nothing was imported.');
    expect(failed.stderr).toContain('staff.csv:5:1: email: must be an e-mail address');
    expect(failed.stderr).toContain('staff.csv:702:1: roles.0: shop has no role none');
    expect(failed.stderr).toContain('staff.csv:702:1: roles.1: there is no application nowhere');
    expect((await registry.root.get('/api/users/long1199@example.com')).status).toBe(404);
  });

  test.each([
    ['no email', 'firstName\nAda\n', 'staff.csv:1:1: the column email is missing'],
    ['an unknown column', 'email,name\na@b.cz,A\n', 'staff.csv:1:1: "name" is not a column'],
    ['a column twice', 'email,email\na@b.cz,A\n', 'staff.csv:1:1: the column email is there twice'],
    ['too many cells', 'email\n"a\n@b.cz",x\n', 'staff.csv:2:1: has 2 cells, and the head 1'],
    ['no address', 'email,firstName\n,Ada\n', 'staff.csv:2:1: email: is missing'],
    ['an address twice', 'email\na@b.cz\n\nA@b.cz\n', 'staff.csv:4:1: email: a@b.cz is in line 2 already'],
    [
      'an address after lines of Windows',
      'email,roles\r\n"a@b.cz","shop/clerk\r\n"\r\nb@b.cz,\r\nno,\r\n',
      'staff.csv:5:1: email',
    ],
    ['an open quote', 'email\n"a@b.cz\n', 'is not CSV: Quote Not Closed'],
    ['nothing', '', 'is empty: its first line names the columns'],
    ['another encoding', Buffer.from('email,firstName\na@b.cz,Zo\xeb\n', 'latin1'), 'is not UTF-8'],
  ])('refuses a file with %s', async (_, text, message) => {
    const { code, stderr } = await run(text);
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});
