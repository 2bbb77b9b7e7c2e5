import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { newFolder, type Outcome, usher } from './harness.ts';

const { folder } = newFolder();
const at = (name: string) => join(folder, name);

describe('backup and restore of the embedded database', () => {
  let storage: TestStorage;
  let env: Record<string, string>;
  const file = at('whole.backup');

  beforeAll(async () => {
    storage = await createStorage('pglite');
    env = { DATABASE_EMBEDDED: 'true', DATA_DIR: storage.dataDir };
    expect(await usher(['superadmin', 'add', 'ada@example.com'], { env })).toMatchObject({ code: 0 });
    expect(await usher(['backup', file], { env })).toMatchObject({ code: 0, stderr: '' });
  });
  afterAll(async () => {
    await storage?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  async function superadmins(dataDir: string): Promise<string[]> {
    const { stdout } = await usher(['superadmin', 'list', '--json'], { env: { ...env, DATA_DIR: dataDir } });
    return (JSON.parse(stdout) as { email: string }[]).map(({ email }) => email);
  }
  const restoreInto = (dataDir: string, name = file, ...more: string[]): Promise<Outcome> =>
    usher(['restore', name, ...more], { env: { ...env, DATA_DIR: dataDir } });

  test('a backup holds what was there, and only its owner may read it', async () => {
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const [line = ''] = readFileSync(file, 'latin1').split('\n', 1);
    expect(JSON.parse(line)).toMatchObject({ format: 'usher-backup', formatVersion: 1, usher: '1.2.3' });
    const fresh = at('fresh');
    expect(await restoreInto(fresh)).toMatchObject({ code: 0, stderr: '' });
    expect(await superadmins(fresh)).toEqual(['ada@example.com']);
    expect(
      readdirSync(fresh)
        .filter((name) => name.startsWith('database'))
        .sort(),
    ).toEqual(['database']);
  });

  test('a database that is there is kept, unless --force is given', async () => {
    const other = at('other');
    cpSync(storage.dataDir, other, { recursive: true });
    await usher(['superadmin', 'add', 'eve@example.com'], { env: { ...env, DATA_DIR: other } });
    const refused = await restoreInto(other);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--force replaces it')]);
    expect(await superadmins(other)).toEqual(['ada@example.com', 'eve@example.com']);
    expect(await restoreInto(other, file, '--force')).toMatchObject({ code: 0 });
    expect(await superadmins(other)).toEqual(['ada@example.com']);
    const twice = await usher(['backup', file], { env });
    expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining('exists already')]);
    expect(await usher(['backup', file, '--force'], { env })).toMatchObject({ code: 0 });
  });

  test('neither works beside a process that has the database open', async () => {
    const database = await storage.open();
    for (const argv of [
      ['backup', at('second.backup')],
      ['restore', file, '--force'],
    ]) {
      const { code, stderr } = await usher(argv, { env });
      expect([argv[0], code, stderr]).toEqual([argv[0], 1, expect.stringContaining('Another process is using')]);
    }
    await database.close();
    expect(existsSync(at('second.backup'))).toBe(false);
    expect(await superadmins(storage.dataDir)).toEqual(['ada@example.com']);
  });

  test('a file that is no whole backup of a version like this changes nothing', async () => {
    const bytes = readFileSync(file);
    const line = bytes.indexOf(10);
    const described = JSON.parse(bytes.toString('utf8', 0, line)) as Record<string, unknown>;
    const altered = (change: Record<string, unknown>) =>
      Buffer.concat([Buffer.from(JSON.stringify({ ...described, ...change })), bytes.subarray(line)]);
    const flipped = Buffer.from(bytes);
    flipped[line + 5000] = (flipped[line + 5000] ?? 0) ^ 1;
    const cases: [Buffer, RegExp][] = [
      [Buffer.from(''), /is not a backup of Usher/],
      [Buffer.from('hello\n'), /is not a backup of Usher/],
      [Buffer.alloc(100_000, 65), /is not a backup of Usher/],
      [bytes.subarray(0, bytes.length - 1), /is not whole: it has \d+ of \d+ bytes/],
      [bytes.subarray(0, line + 1), /is not whole/],
      [Buffer.concat([bytes, Buffer.from('x')]), /is not whole/],
      [flipped, /is damaged: its checksum is another/],
      [altered({ formatVersion: 2 }), /format that this version does not know/],
      [
        altered({ migrations: [...(described.migrations as string[]), '9999-future'] }),
        /newer Usher \(it has 9999-future/,
      ],
      [altered({ migrations: [] }), /is not what its first line says/],
    ];
    const target = at('target');
    cpSync(storage.dataDir, target, { recursive: true });
    for (const [content, message] of cases) {
      writeFileSync(at('odd.backup'), content);
      const { code, stderr } = await restoreInto(target, at('odd.backup'), '--force');
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
      expect(stderr.trim().split('\n')).toHaveLength(1);
    }
    expect(await restoreInto(target, at('none.backup'))).toMatchObject({ code: 1 });
    expect(await superadmins(target)).toEqual(['ada@example.com']);
    expect(readdirSync(target)).not.toContain('database.restoring');
  });

  // Mounting takes root, so it runs with the other full disks, in the long run.
  const longTest = process.env.USHER_LONG === '1' ? test : null;
  longTest?.(
    'a disk that is full while it is written leaves no half file, and an older one as it was',
    async () => {
      const small = at('small');
      mkdirSync(small);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'none', small]);
      try {
        writeFileSync(join(small, 'older'), 'as it was');
        for (const name of ['new', 'older']) {
          const { code, stderr } = await usher(['backup', join(small, name), '--force'], { env });
          expect([code, stderr]).toEqual([
            1,
            expect.stringContaining('cannot be written (ENOSPC). Nothing has changed.'),
          ]);
        }
        expect(readdirSync(small)).toEqual(['older']);
        expect(readFileSync(join(small, 'older'), 'utf8')).toBe('as it was');
        const dataDir = join(small, 'data');
        expect(await restoreInto(dataDir)).toMatchObject({ code: 1 });
        expect(readdirSync(dataDir)).not.toContain('database.restoring');
      } finally {
        execFileSync('umount', ['-l', small]);
      }
    },
    1_800_000,
  );

  test('a restore that was killed between its steps leaves one of the two', async () => {
    const killed = at('killed');
    cpSync(storage.dataDir, killed, { recursive: true });
    const database = join(killed, 'database');
    renameSync(database, join(killed, 'database.replaced'));
    expect(await superadmins(killed)).toEqual(['ada@example.com']);
    cpSync(database, join(killed, 'database.replaced'), { recursive: true });
    cpSync(database, join(killed, 'database.restoring'), { recursive: true });
    expect(await restoreInto(killed, file, '--force')).toMatchObject({ code: 0 });
    expect(await superadmins(killed)).toEqual(['ada@example.com']);
    expect(
      readdirSync(killed)
        .filter((name) => name.startsWith('database'))
        .sort(),
    ).toEqual(['database']);
  });

  test('a directory without a database, and a PostgreSQL, are told so', async () => {
    const empty = await usher(['backup', at('x.backup')], { env: { ...env, DATA_DIR: at('empty') } });
    expect([empty.code, empty.stderr]).toEqual([1, expect.stringContaining('no embedded database')]);
    expect(existsSync(at('empty'))).toBe(false);
    const url = 'postgresql://usher@localhost/usher';
    for (const command of ['backup', 'restore']) {
      const { code, stderr } = await usher([command, file], { env: { DATABASE_URL: url } });
      expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining('Use its own tools')]);
      expect(code).not.toBe(0);
    }
    const nowhere = await usher(['backup', at('no/such/folder.backup')], { env });
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('cannot be written (ENOENT)')]);
  });
});
