/** The measure that soaks go by: it tells what a process holds from garbage, finds its other threads, and can show what they hold. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Inspector } from '../../bench/inspector.ts';
import { freePort } from '../support/postgres-server.ts';

const MB = 2 ** 20;
/** What a thread has before it holds anything, at most. */
const BARE_MB = 12;

/** Keeps 20 MB of numbers in the main thread, 10 in another one and a buffer of 30, and leaves 40 MB of garbage. */
const PROGRAM = `
  const { Worker, isMainThread, parentPort } = require('node:worker_threads');
  class KeptHere {
    constructor(megabytes) {
      this.numbers = Array.from({ length: megabytes }, () => new Array(2 ** 17).fill(0.5));
    }
  }
  globalThis.kept = new KeptHere(isMainThread ? 20 : 10);
  if (isMainThread) {
    globalThis.buffer = Buffer.alloc(30 * 2 ** 20, 1);
    new KeptHere(40);
    const used = process.memoryUsage().heapUsed;
    new Worker(__filename).once('message', () => console.log(used));
  } else {
    parentPort.on('message', () => undefined);
    parentPort.postMessage('up');
  }
`;

describe('Inspector', () => {
  let folder: string;
  let child: ChildProcess;
  let inspector: Inspector;
  let used: number;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'usher-inspector-'));
    const file = join(folder, 'program.cjs');
    writeFileSync(file, PROGRAM);
    const port = await freePort();
    const flags = [`--inspect=127.0.0.1:${port}`, '--inspect-publish-uid=http', '--initial-old-space-size=256'];
    child = spawn(process.execPath, [...flags, file], { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = (await once(child.stdout as NonNullable<ChildProcess['stdout']>, 'data')) as [Buffer];
    used = Number(String(line));
    inspector = await Inspector.connect(port);
    await inspector.withThreads();
  });

  afterEach(async () => {
    inspector.close();
    const gone = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGKILL');
    await gone;
    rmSync(folder, { recursive: true });
  });

  test('tells what is held, without garbage, by thread and beside the heaps', async () => {
    expect(used / MB).toBeGreaterThan(60);
    const { heap, threads, external } = await inspector.held();
    expect(heap / MB).toBeGreaterThan(20);
    expect(heap / MB).toBeLessThan(20 + BARE_MB);
    expect(threads / MB).toBeGreaterThan(10);
    expect(threads / MB).toBeLessThan(10 + BARE_MB);
    expect(external / MB).toBeGreaterThan(30);
    expect(external / MB).toBeLessThan(30 + BARE_MB);
  });

  test('writes the heap of each thread', async () => {
    await inspector.snapshot(join(folder, 'now'));
    const files = readdirSync(folder).filter((name) => name.endsWith('.heapsnapshot'));
    expect(files.sort()).toEqual(['now-thread-1.heapsnapshot', 'now.heapsnapshot']);
    for (const name of files) {
      const { strings } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { strings: string[] };
      expect(strings).toContain('KeptHere');
    }
  });

  test('rejects what the process does not live to answer', async () => {
    const asked = inspector.held();
    child.kill('SIGKILL');
    await expect(asked).rejects.toThrow('has ended');
    await expect(inspector.held()).rejects.toThrow('has ended');
  });
});
