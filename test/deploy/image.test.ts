import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { copyOf, imageEnvironment, imageStages, wordsOf } from '../../deploy/test/dockerfile.ts';
import { toConfig } from '../../src/config/config.ts';
import { KEYS } from '../../src/config/keys.ts';

/** What can be said of the image without building it; deploy/test/image.ts carries its steps out. */
const ROOT = resolve(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');

const stages = imageStages();
const last = stages.at(-1)?.instructions ?? [];
const of = (name: string): string => last.find((instruction) => instruction.name === name)?.rest ?? '';

describe('deploy/image/Dockerfile', () => {
  test('starts the service with the flags of `npm start`', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } };
    const flags = scripts.start.split(' ').filter((word) => /^--(?!import)/.test(word));
    expect(flags.length).toBeGreaterThan(0);
    expect(wordsOf(of('ENTRYPOINT')).slice(1, -1)).toEqual(flags);
    expect(wordsOf(of('CMD'))).toEqual(['serve']);
    expect(wordsOf(of('HEALTHCHECK')).slice(-2)).toEqual(['/opt/usher/dist/main.js', 'health']);
  });

  test('is of the Node.js that the lock file brings', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: { node: string } };
    const images = stages.map(({ from }) => from).filter((from) => from !== 'scratch');
    expect(new Set(images)).toEqual(new Set([`node:${dependencies.node}-bookworm-slim`]));
  });

  test('ends in a stage that begins with nothing and runs as a user by number', () => {
    expect(stages.at(-1)?.from).toBe('scratch');
    expect(of('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(last.filter(({ name }) => name === 'RUN')).toEqual([]);
  });

  test('sets only variables that exist, for production', () => {
    const { NODE_ENV, ...variables } = imageEnvironment();
    expect(NODE_ENV).toBe('production');
    const known = Object.values(KEYS).map(({ variable }) => variable);
    expect(Object.keys(variables).length).toBeGreaterThan(0);
    for (const name of Object.keys(variables)) expect(known).toContain(name);
    expect(toConfig({ env: variables }).ops?.port).toBe(9090);
  });

  test('is given every file that it copies, and that these are made from', () => {
    const given = read('deploy/image/Dockerfile.dockerignore').match(/(?<=^!).+/gm) ?? [];
    const copied = stages
      .flatMap(({ instructions }) => instructions.filter(({ name }) => name === 'COPY'))
      .map(({ rest }) => copyOf(rest))
      .filter(({ from, sources }) => from === null && sources[0] !== '.')
      .flatMap(({ sources }) => sources);
    const { files } = JSON.parse(read('package.json')) as { files: string[] };
    const packed = files.filter((name) => !name.includes('dist'));
    expect(copied.length + packed.length).toBeGreaterThan(3);
    for (const name of [...copied, ...packed]) expect(given).toContain(name);
    for (const name of given) expect({ name, exists: existsSync(join(ROOT, name)) }).toEqual({ name, exists: true });
  });
});
