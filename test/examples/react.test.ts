import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');

/** The build of the page sets NODE_ENV in its process, and a token is made in a process of its own. */
test.each([undefined, 'production', 'development'])(
  'the React example gives tokens where NODE_ENV is %s',
  async (mode) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'usher-react-example-'));
    const port = await freePort();
    const { NODE_ENV: _, ...shell } = process.env;
    const env = { ...shell, DATA_DIR: dataDir, ...(mode === undefined ? {} : { NODE_ENV: mode }) };
    const example = spawn(process.execPath, ['examples/react/serve.js', String(port)], {
      cwd: ROOT,
      env,
      stdio: 'pipe',
    });
    const said: string[] = [];
    example.stderr.on('data', (chunk: Buffer) => said.push(String(chunk)));
    try {
      await Promise.race([once(example.stdout, 'data'), once(example, 'exit')]);
      const page = await fetch(`http://localhost:${port}/`);
      expect([page.status, said]).toEqual([200, []]);
      const headers = { 'sec-fetch-site': 'same-origin' };
      const given = await fetch(`http://localhost:${port}/token?email=ben@example.com`, { headers });
      expect([given.status, said]).toEqual([200, []]);
      expect(await given.json()).toEqual({ token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) });
    } finally {
      example.kill();
      await rm(dataDir, { recursive: true, force: true });
    }
  },
  120_000,
);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
