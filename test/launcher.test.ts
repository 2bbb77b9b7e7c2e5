import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';

/** bin/node, which the scripts of package.json run: docs/adr/0015-the-runtime.md. */
const ROOT = resolve(import.meta.dirname, '..');
const LAUNCHER = join(ROOT, 'bin', 'node');
const OWN = join(ROOT, 'node_modules', 'node', 'bin', 'node');

const folder = mkdtempSync(join(tmpdir(), 'usher-launcher-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A program that says it is Node.js of `version`, and `found` for all else. */
function pretend(version: string): string {
  const path = join(mkdtempSync(join(folder, 'node-')), 'node');
  writeFileSync(path, `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; else echo found; fi\n`);
  chmodSync(path, 0o755);
  return path;
}

/** What `bin/node` prints for its own path, with the `env` that npm or a shell gives it. */
function launched(env: Record<string, string>): string {
  const { npm_node_execpath: _, ...rest } = process.env;
  const { stdout, stderr } = spawnSync(LAUNCHER, ['-p', 'process.execPath'], {
    env: { ...rest, ...env },
    encoding: 'utf8',
  });
  return `${stdout}${stderr}`.trim();
}

describe('bin/node', () => {
  test.each(['v24.12.0', 'v24.21.0', 'v26.0.0', 'v26.10.0'])('bin/node runs the %s of npm', (version) => {
    expect(launched({ npm_node_execpath: pretend(version) })).toBe('found');
  });

  test.each([
    'v18.20.8',
    'v20.20.2',
    'v22.22.0',
    'v24.0.0',
    'v24.1.0',
    'v24.11.9',
    'v25.1.0',
    'v27.0.0',
    'v240.1.0',
    '',
  ])('bin/node runs the package `node` when npm runs on "%s", which `engines` excludes', (version) => {
    expect(launched({ npm_node_execpath: pretend(version) })).toBe(OWN);
  });

  test('bin/node runs the package `node` when the Node.js of npm no longer exists', () => {
    expect(launched({ npm_node_execpath: join(folder, 'gone') })).toBe(OWN);
  });

  test('bin/node searches PATH outside npm', () => {
    const inFront = (path: string) => [join(path, '..'), process.env.PATH].join(delimiter);
    expect(launched({ PATH: inFront(pretend('v24.21.0')) })).toBe('found');
    expect(launched({ PATH: inFront(pretend('v20.20.2')) })).toBe(OWN);
  });

  test('bin/node replaces itself with Node.js, so that signals and exit codes pass through', async () => {
    expect(spawnSync(LAUNCHER, ['-e', 'process.exit(7)']).status).toBe(7);
    const waiting =
      "process.on('SIGTERM', () => process.exit(8)); console.log(process.pid); setInterval(() => {}, 1000);";
    const child = spawn(LAUNCHER, ['-e', waiting], { stdio: ['ignore', 'pipe', 'inherit'] });
    const pid = await new Promise<string>((done) => child.stdout.setEncoding('utf8').once('data', done));
    expect(Number(pid)).toBe(child.pid);
    child.kill('SIGTERM');
    expect(await new Promise((done) => child.once('exit', done))).toBe(8);
  });
});
