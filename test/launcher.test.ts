import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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

/** The launchers as npm lays them, in the folder `at` of an installation: without the packages of this repository. */
function installed(at: string): string {
  const root = join(mkdtempSync(join(folder, 'installed-')), at);
  for (const name of ['bin', 'dist']) mkdirSync(join(root, name), { recursive: true });
  for (const name of ['node', 'usher']) copyFileSync(join(ROOT, 'bin', name), join(root, 'bin', name));
  writeFileSync(join(root, 'package.json'), '{"type": "module"}');
  writeFileSync(join(root, 'dist/main.js'), 'console.log(JSON.stringify([process.execArgv, process.argv.slice(2)]));');
  return root;
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

  test('bin/node does not take itself for the `node` of PATH, by its own name or by a link', () => {
    const folders = [join(ROOT, 'bin'), mkdtempSync(join(folder, 'linked-'))];
    symlinkSync(LAUNCHER, join(folders[1] ?? '', 'node'));
    for (const first of folders) {
      const { npm_node_execpath: _, ...rest } = process.env;
      const env = { ...rest, PATH: [first, process.env.PATH].join(delimiter) };
      // It would call itself without end, a process each time: `timeout` ends all of them.
      const bounded = ['5', LAUNCHER, '-p', 'process.execPath'];
      expect(spawnSync('timeout', bounded, { env, encoding: 'utf8' }).stdout.trim()).toBe(OWN);
    }
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

describe('the launchers of an installed package', () => {
  const serveFlags = (): string[] => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { start: string } };
    return scripts.start.split(' ').filter((word) => /^--(?!import)/.test(word));
  };

  test.each([
    ['serve', ['--config', 'a b.yaml', 'serve'], serveFlags()],
    ['another command', ['check', 'ada@example.com', 'atelier', '*'], []],
  ])('usher, linked by npm, runs %s with the flags that `npm start` gives it', (_, args, flags) => {
    const link = join(mkdtempSync(join(folder, 'prefix-')), 'usher');
    symlinkSync(join(installed('@usher-service/usher'), 'bin/usher'), link);
    const env = { ...process.env, npm_node_execpath: process.execPath };
    const { stdout } = spawnSync(link, args, { env, encoding: 'utf8' });
    expect(JSON.parse(stdout)).toEqual([flags, args]);
  });

  test('serveFlags reads the flags of `npm start`', () => {
    expect(serveFlags()).toContain('--max-semi-space-size=4');
  });

  test('bin/node finds the package `node` beside it, where npm has put it for a project that depends on usher', () => {
    const root = installed('node_modules/@usher-service/usher');
    const own = join(root, '../../node/bin');
    mkdirSync(own, { recursive: true });
    copyFileSync(pretend('v24.21.0'), join(own, 'node'));
    const env = { ...process.env, npm_node_execpath: pretend('v20.20.2') };
    expect(spawnSync(join(root, 'bin/node'), [], { env, encoding: 'utf8' }).stdout).toBe('found\n');
  });

  test('bin/node says what is missing where no Node.js fits', () => {
    const env = { ...process.env, npm_node_execpath: pretend('v20.20.2') };
    const { status, stderr } = spawnSync(join(installed('usher'), 'bin/usher'), ['serve'], { env, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^Usher needs Node\.js 24 \(from 24\.12\) or 26, found: v20\.20\.2\./),
    });
  });
});
