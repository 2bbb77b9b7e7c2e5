import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { imageEnvironment } from '../../deploy/test/dockerfile.ts';
import { toConfig } from '../../src/config/config.ts';
import { KEYS } from '../../src/config/keys.ts';

const FOLDER = join(import.meta.dirname, '../../examples/edge');
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');

const KNOWN: readonly string[] = ['NODE_ENV', ...Object.values(KEYS).map(({ variable }) => variable)];

/** What the comment at the top of the file has its reader set. */
const SET: Record<string, string> = {
  DATABASE_PASSWORD: 'a'.repeat(32),
  EDGE_KEY: 'b'.repeat(64),
  CALLER_KEY: 'c'.repeat(64),
  AUTH_ISSUER: 'https://idp.example.com',
};

interface Compose {
  readonly services: Record<string, { environment: Record<string, string>; ports?: string[] }>;
}

const compose = parse(read('compose.yaml'), { merge: true }) as Compose;
const image = imageEnvironment();

function environmentOf(service: string): Record<string, string> {
  const { environment = {} } = compose.services[service] ?? {};
  const filled = Object.entries(environment).map(([name, value]) => [
    name,
    value.replace(
      /\$\{(\w+):(?:\?[^}]+|-([^}]+))\}/g,
      (_, variable: string, usual?: string) => SET[variable] ?? usual ?? `no ${variable}`,
    ),
  ]);
  return { ...image, ...Object.fromEntries(filled) };
}

describe('the example of an edge', () => {
  test.each(['usher', 'edge'])('sets only variables that exist for %s, and the service starts with them', (name) => {
    const env = environmentOf(name);
    for (const variable of Object.keys(env)) expect(KNOWN).toContain(variable);
    expect(toConfig({ env })).toMatchObject({ production: true });
  });

  test('gives the edge the key that its upstream accepts, and opens its port to the host alone', () => {
    const [usher, edge] = [environmentOf('usher'), environmentOf('edge')];
    expect(usher.INTERNAL_API_KEY).toBe(`edge:facts:${edge.UPSTREAM_KEY}`);
    expect(toConfig({ env: edge }).upstream).toMatchObject({ address: 'usher:50051', plaintext: true });
    expect(compose.services.edge?.ports).toEqual(['127.0.0.1:50051:50051']);
  });

  test('has a unit for systemd that sets only variables that exist', () => {
    const variables = [...read('usher-edge.service').matchAll(/^#?\s*(?:Environment=)?([A-Z][A-Z_]+)=/gm)];
    expect(variables.length).toBeGreaterThan(5);
    for (const [, variable] of variables) expect(KNOWN).toContain(variable);
  });
});
