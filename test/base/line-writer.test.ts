import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { LineWriter } from '../../src/base/line-writer.ts';
import { createLogger } from '../../src/base/telemetry.ts';

const folder = mkdtempSync(join(tmpdir(), 'usher-lines-'));
const path = join(folder, 'lines.log');
let writer: LineWriter | undefined;
let logged: string[] = [];

const openWriter = async (): Promise<LineWriter> => {
  logged = [];
  const log = createLogger('info', { write: (line: string) => void logged.push(line) });
  writer = await LineWriter.open({ path, clock: systemClock, log, failing: 'not written', working: 'written again' });
  return writer;
};
const until = async (holds: () => boolean): Promise<void> => {
  for (let i = 0; i < 500 && !holds(); i++) await sleep(10);
  expect(holds()).toBe(true);
};
const lines = (file = path): string[] => readFileSync(file, 'utf8').split('\n').slice(0, -1);

afterEach(async () => {
  await writer?.close();
  rmSync(path, { force: true });
  rmSync(`${path}.1`, { force: true });
});

describe('lines to standard output', () => {
  test('are whole between those of the log, for a slow reader too, and none is lost', async () => {
    const writing = spawn(process.execPath, [join(import.meta.dirname, 'line-writer-process.ts'), '4000']);
    let text = '';
    let told = '';
    writing.stderr.on('data', (chunk) => {
      told += chunk;
    });
    const exited = once(writing, 'exit');
    for await (const chunk of writing.stdout.setEncoding('utf8')) {
      text += chunk;
      await sleep(1);
    }
    await exited;
    expect(JSON.parse(told)).toEqual({ written: 4000, dropped: 0 });
    const all = text
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { line?: number; msg?: string });
    expect(all.flatMap(({ line }) => line ?? [])).toEqual(Array.from({ length: 4000 }, (_, i) => i));
    expect(all.filter(({ msg }) => msg === 'between')).toHaveLength(200);
  });
});

describe('lines to a file', () => {
  test('are appended to what is there, in order, those of many turns too', async () => {
    writeFileSync(path, 'before\n');
    const { push, ...all } = await openWriter().then((made) => ({ made, push: (line: string) => made.push(line) }));
    for (let i = 0; i < 20_000; i++) push(`line ${i} é\n`);
    await all.made.close();
    expect(lines()).toEqual(['before', ...Array.from({ length: 20_000 }, (_, i) => `line ${i} é`)]);
    expect([all.made.written, all.made.dropped]).toEqual([20_000, 0]);
  });

  test('go to a new file of the name after a rotation, without a torn or a lost one', async () => {
    const made = await openWriter();
    let pushed = 0;
    const timer = setInterval(() => made.push(`line ${pushed++}\n`), 1);
    await until(() => made.written > 50);
    renameSync(path, `${path}.1`);
    await until(() => {
      try {
        return lines().length > 50;
      } catch {
        return false;
      }
    });
    clearInterval(timer);
    await made.close();
    expect([...lines(`${path}.1`), ...lines()]).toEqual(Array.from({ length: pushed }, (_, i) => `line ${i}`));
  });

  test('wait in bounded memory while the disk is full; those beyond are counted, and the others written later', async () => {
    symlinkSync('/dev/full', path);
    const made = await openWriter();
    const line = `${'x'.repeat(1023)}\n`;
    for (let i = 0; i < 20_000; i++) made.push(line);
    const held = (8 * 2 ** 20) / 1024;
    expect(made.dropped).toBe(20_000 - held);
    await until(() => logged.length > 0);
    for (let i = 0; i < 100; i++) made.push(line);
    expect([made.written, made.dropped]).toEqual([0, 20_100 - held]);
    rmSync(path);
    await until(() => made.written === held);
    expect(lines()).toHaveLength(held);
    expect(logged.map((text) => JSON.parse(text).msg)).toEqual(['not written', 'written again']);
  });

  test('are given up when the disk stays full until the end, which comes in time', async () => {
    symlinkSync('/dev/full', path);
    const made = await openWriter();
    for (let i = 0; i < 10; i++) made.push('line\n');
    const began = performance.now();
    await made.close();
    expect(performance.now() - began).toBeLessThan(4000);
    made.push('late\n');
    expect([made.written, made.dropped]).toEqual([0, 11]);
  });

  test('a file that cannot be opened is refused', async () => {
    const log = createLogger('silent');
    const parts = { path: join(folder, 'none', 'x.log'), clock: systemClock, log, failing: '', working: '' };
    await expect(LineWriter.open(parts)).rejects.toThrow('ENOENT');
  });
});
