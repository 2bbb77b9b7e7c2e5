import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { namesState } from '../../src/base/entity-tag.ts';
import type { Role } from '../../src/gen/api.ts';
import { createStorage, type TestStorage } from '../support/databases.ts';
import { freePort } from '../support/postgres.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** Forms of a tag that proxies make of `"TAG"`. */
const FORMS = ['"TAG"', 'W/"TAG"', '"TAG-gzip"', 'W/"TAG--gzip"', '"TAG-br"', '"TAG;gzip"', '"x", W/"TAG-gzip"'];
const OTHERS = ['"TAGx"', 'TAG', '"TAG', 'W/TAG', '"-gzip"', '""', '"TAG-gzip-gzip"', 'w/"TAG"'];

test('a tag names its state in every form that a proxy makes of it, and in no other', () => {
  // A tag of ours may end as such an addition does.
  for (const tag of ['Zm9vYmFyYmF6cXV1eHF1dQ', 'Zm9vYmFyYmF6cXV1-gzip']) {
    const named = (form: string) => namesState(form.replace('TAG', tag), tag);
    expect([FORMS.filter((form) => !named(form)), OTHERS.filter(named)]).toEqual([[], []]);
  }
  expect(namesState('*', 'any')).toBe(true);
});

const NGINX = ['/usr/sbin/nginx', '/usr/local/sbin/nginx'].find((path) => existsSync(path));

describe('sets behind a proxy that compresses', () => {
  let storage: TestStorage;
  let usher: RunningUsher;
  let authorization: string;
  let folder: string;
  let nginx: ChildProcess | undefined;
  let role: number;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'usher-nginx-'));
    storage = await createStorage('postgresql');
    usher = await startUsher(storage, { env: { SUPERADMINS: 'root@example.com' } });
    authorization = `Bearer ${await usher.token('root@example.com')}`;
    const permissions = Array.from({ length: 40 }, (_, n) => ({ code: `orders.read${n}`, type: 'binary' }));
    const roles = [{ code: 'clerk', permissions: { 'orders.read1': 'allowed' } }];
    const text = JSON.stringify({ application: { code: 'shop', name: 'Shop' }, permissions, roles });
    await usher.app.manifests.apply(text, { actor: 'cli' });
    const listed = await fetch(`${usher.rest}/api/applications/shop/roles`, { headers: { authorization } });
    role = ((await listed.json()) as { data: [Role] }).data[0].id;
  }, 60_000);
  afterAll(async () => {
    if (nginx !== undefined && nginx.exitCode === null) {
      nginx.kill('SIGQUIT');
      await once(nginx, 'exit');
    }
    await usher?.close();
    await storage?.remove();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  /** With node:http, which shows headers as they came. */
  async function ask(base: string, method: string, path: string, headers: Record<string, string>, body?: unknown) {
    const asked = request(base + path, {
      method,
      headers: { authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      agent: false,
    });
    asked.end(body === undefined ? undefined : JSON.stringify(body));
    const [answer] = await once(asked, 'response');
    const text: Buffer[] = [];
    for await (const piece of answer) text.push(piece as Buffer);
    return { status: answer.statusCode as number, headers: answer.headers as Record<string, string> };
  }

  const SETS = [
    ['/api/applications/shop/roles/ROLE/permissions', { permissions: [] }],
    ['/api/users/bob@example.com/apps/shop/roles', { roles: [] }],
    ['/api/applications/shop/matrix', { changes: [{ role: 'clerk', permission: 'orders.read3', accessLevel: null }] }],
    ['/api/applications/shop', { name: 'Shop' }],
  ] as const;

  test.each(SETS)('%s is saved with each form of its tag, and refused with another state’s', async (template, body) => {
    const path = template.replace('ROLE', `${role}`);
    const tagNow = async () => /^"(.*)"$/.exec((await ask(usher.rest, 'GET', path, {})).headers.etag ?? '')?.[1] ?? '';
    for (const form of FORMS) {
      const tag = await tagNow();
      expect(tag).not.toBe('');
      const saved = await ask(usher.rest, 'PUT', path, { 'if-match': form.replace('TAG', tag) }, body);
      expect([form, saved.status]).toEqual([form, 200]);
    }
    for (const form of ['"TAGx"', 'W/"another"', '"-gzip"']) {
      const tag = await tagNow();
      const refused = await ask(usher.rest, 'PUT', path, { 'if-match': form.replace('TAG', tag) }, body);
      expect([form, refused.status]).toEqual([form, 412]);
    }
  });

  for (const path of NGINX === undefined ? [] : [NGINX]) {
    test('a set that nginx has compressed is saved with the tag that it gave', async () => {
      const port = await freePort();
      const conf = join(folder, 'nginx.conf');
      writeFileSync(
        conf,
        `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/error.log; worker_processes 1;
         events { worker_connections 64; }
         http {
           access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
           fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
           gzip on; gzip_min_length 1; gzip_proxied any; gzip_types application/json;
           server { listen 127.0.0.1:${port}; location / { proxy_pass ${usher.rest}; proxy_set_header Accept-Encoding ""; } }
         }`,
      );
      nginx = spawn(path, ['-p', folder, '-c', conf], { stdio: 'ignore' });
      const base = `http://127.0.0.1:${port}`;
      const set = `/api/applications/shop/roles/${role}/permissions`;
      let read = await ask(base, 'GET', set, { 'accept-encoding': 'gzip' }).catch(() => null);
      while (read === null) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        read = await ask(base, 'GET', set, { 'accept-encoding': 'gzip' }).catch(() => null);
      }
      const tag = read.headers.etag ?? '';
      expect([read.headers['content-encoding'], tag]).toEqual(['gzip', expect.stringMatching(/^W\/"/)]);
      const body = { permissions: [{ permission: 'orders.read2', accessLevel: 'allowed' }] };
      expect((await ask(base, 'PUT', set, { 'if-match': tag }, body)).status).toBe(200);
      // Now it is of an older state.
      expect((await ask(base, 'PUT', set, { 'if-match': tag }, body)).status).toBe(412);
    }, 30_000);
  }
});
