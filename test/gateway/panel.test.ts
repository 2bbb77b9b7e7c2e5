import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PanelFolder } from '../../src/gateway/panel/files.ts';
import { previewPolicy } from '../../src/gateway/panel/headers.ts';
import { type BuiltPanel, buildPanel, writePanel } from '../support/panel-folder.ts';
import { ask, errorShape, parseRaw, rawRequest, startWorld, type World, type WorldOptions } from './fixture.ts';

const SCRIPT = 'addEventListener("message", () => {})';
const FILES = {
  'index.html':
    '<!doctype html><html lang="en"><head><script type="module" src="/panel/assets/index-a1.js"></script></head></html>',
  'preview.html': `<!doctype html><html><head><script>${SCRIPT}</script></head></html>`,
  'assets/index-a1.js': `${'console.log("panel");'.repeat(50)}`,
  'assets/logo-b2.png': Buffer.from([0x89, 0x50, 0x4e, 0x47]),
  'docs/swagger-ui.css': 'a{}',
  'favicon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'licenses.txt': 'MIT',
};
const ISSUER = { auth: { issuer: 'https://idp.example.com/realm' } };
const ENABLED = { enabled: true, clientId: 'panel', scope: 'openid', authorizeParams: { audience: 'usher' } };

let built: BuiltPanel;
let folder: PanelFolder;
beforeAll(async () => {
  built = await buildPanel(FILES);
  folder = new PanelFolder(built.path);
});
afterAll(async () => await built?.remove());

async function withPanel<T>(options: WorldOptions, use: (world: World) => Promise<T>): Promise<T> {
  const services = {
    panelFiles: () => folder.files(),
    languages: { list: async () => [{ code: 'cs' }, { code: 'en' }] },
    publicUrl: () => 'https://usher.example.com',
    ...options.services,
  };
  const world = await startWorld({ ...options, services });
  try {
    return await use(world);
  } finally {
    await world.close();
  }
}

/** One answer as it is on the wire: `fetch` decodes bodies and adds headers. */
async function raw(world: World, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const lines = Object.entries({ host: `localhost:${world.port}`, connection: 'close', ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}`).join('\r\n');
  return parseRaw(await rawRequest(world.port, `${method} ${path} HTTP/1.1\r\n${head}\r\n\r\n`));
}

describe('the files of the panel', () => {
  test('a page of the panel is index.html, fresh by its tag', async () => {
    await withPanel({}, async (world) => {
      for (const path of [
        '/panel/',
        '/panel/people',
        '/panel/people/ada@example.com',
        '/panel/applications/a.b/?tab=x',
      ]) {
        const { status, headers, body } = await raw(world, path);
        expect([path, status, body]).toEqual([path, 200, FILES['index.html']]);
        expect(headers).toMatchObject({
          'content-type': 'text/html; charset=utf-8',
          'cache-control': 'no-cache',
          vary: 'accept-encoding',
          etag: `"${createHash('sha256').update(FILES['index.html']).digest('base64url')}"`,
        });
        expect((await raw(world, path, { 'if-none-match': headers.etag ?? '' })).status).toBe(304);
        expect((await raw(world, path, { 'if-none-match': '"another"' })).status).toBe(200);
      }
    });
  });

  test('an asset is kept forever, with the type of its name', async () => {
    await withPanel({}, async (world) => {
      const script = await raw(world, '/panel/assets/index-a1.js');
      expect(script.headers).toMatchObject({
        'content-type': 'text/javascript; charset=utf-8',
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
      });
      expect((await raw(world, '/panel/assets/logo-b2.png')).headers['content-type']).toBe('image/png');
      expect((await raw(world, '/panel/licenses.txt')).headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'cache-control': 'no-cache',
      });
    });
  });

  test('a client that takes brotli or gzip gets the compressed file, with a tag of its own', async () => {
    await withPanel({}, async (world) => {
      const path = '/panel/assets/index-a1.js';
      const plain = await raw(world, path, { 'accept-encoding': 'deflate' });
      const zipped = await raw(world, path, { 'accept-encoding': 'gzip, deflate' });
      expect(zipped.headers['content-encoding']).toBe('gzip');
      expect(Number(zipped.headers['content-length'])).toBeLessThan(Number(plain.headers['content-length']) / 5);
      expect((await raw(world, path, { 'accept-encoding': 'br;q=0, gzip' })).headers['content-encoding']).toBe('gzip');
      const small = await raw(world, path, { 'accept-encoding': 'gzip, deflate, br' });
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(small.headers['content-encoding']).toBe('br');
      expect(Number(small.headers['content-length'])).toBeLessThan(Number(plain.headers['content-length']) / 5);
      expect(new Set([plain, zipped, small].map(({ headers }) => headers.etag)).size).toBe(3);
      expect((await ask(world.url.replace('127.0.0.1', 'localhost') + path)).text).toBe(FILES['assets/index-a1.js']);
      expect((await raw(world, path, { 'accept-encoding': 'br;q=0' })).headers['content-encoding']).toBeUndefined();
      const picture = await raw(world, '/panel/assets/logo-b2.png', { 'accept-encoding': 'br' });
      expect(picture.headers['content-encoding']).toBeUndefined();
    });
  });

  test('HEAD answers the headers of GET without the body', async () => {
    await withPanel({}, async (world) => {
      const [get, head] = [await raw(world, '/panel/'), await raw(world, '/panel/', {}, 'HEAD')];
      expect([head.status, head.body, head.headers['content-length']]).toEqual([
        200,
        '',
        get.headers['content-length'],
      ]);
    });
  });

  test.each([
    '/panel/assets/gone.js',
    '/panel/assets/none',
    '/panel/robots.txt',
    '/panel/docs/other.js',
    '/panel/.made-of',
    '/panel/index.html.br',
    '/panel/assets/../../../../etc/passwd',
    '/panel/assets/%2e%2e/index.html',
    '/panel/assets/..%2findex.html',
    '/panel/docs/%00',
    '/panelx',
    '/PANEL/',
  ])('a file that the build did not write is 404: %s', async (path) => {
    await withPanel({}, async (world) => {
      const { status, body } = await raw(world, path);
      expect({ status, json: JSON.parse(body) }).toEqual(errorShape(404, 'NOT_FOUND'));
    });
  });

  test('other methods are refused with those that the panel takes', async () => {
    await withPanel({}, async (world) => {
      for (const method of ['POST', 'PUT', 'DELETE']) {
        const { status, headers } = await ask(`${world.url}/panel/config.json`, { method });
        expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
      }
      expect((await ask(`${world.url}/panel/`, { method: 'OPTIONS' })).status).toBe(204);
    });
  });

  test('/panel leads to /panel/ and keeps the query', async () => {
    await withPanel({}, async (world) => {
      const { status, headers } = await raw(world, '/panel?code=abc');
      expect([status, headers.location]).toEqual([308, '/panel/?code=abc']);
    });
  });

  test('a panel that was not built says how to build it, until it is', async () => {
    const empty = await buildPanel({});
    const later = new PanelFolder(empty.path);
    await withPanel({ services: { panelFiles: () => later.files() } }, async (world) => {
      const page = await raw(world, '/panel/', { accept: 'text/html' });
      expect([page.status, page.headers['content-type']]).toEqual([503, 'text/html; charset=utf-8']);
      expect(page.body).toContain('<code>npm run panel</code>');
      expect(page.headers['content-security-policy']).not.toContain('unsafe');
      const { status, body } = await raw(world, '/panel/');
      expect({ status, json: JSON.parse(body) }).toEqual(errorShape(503, 'UNAVAILABLE', 'PANEL_NOT_BUILT'));
      await writePanel(empty.path, FILES);
      expect((await raw(world, '/panel/')).status).toBe(200);
      // Read once: a build under a running service is not mixed with the one before.
      await writeFile(join(empty.path, 'index.html'), 'another');
      await rm(join(empty.path, 'assets'), { recursive: true });
      expect((await raw(world, '/panel/')).body).toBe(FILES['index.html']);
      expect((await raw(world, '/panel/assets/index-a1.js')).status).toBe(200);
    });
    await empty.remove();
  });

  test('a folder that does not exist is a panel that was not built, and other trouble is an error', async () => {
    expect(await new PanelFolder('/nonexistent/panel').files()).toBeNull();
    await expect(new PanelFolder('/dev/null').files()).rejects.toThrow('ENOTDIR');
  });

  test('a disabled panel is 404, but for the files of the documentation', async () => {
    const panel = { ...ENABLED, enabled: false };
    await withPanel({ config: { panel } }, async (world) => {
      for (const path of ['/panel', '/panel/', '/panel/people', '/panel/config.json', '/panel/assets/index-a1.js']) {
        expect([path, (await raw(world, path)).status]).toEqual([path, 404]);
      }
      expect((await raw(world, '/panel/docs/swagger-ui.css')).status).toBe(200);
      expect((await raw(world, '/panel/docs/none')).status).toBe(404);
      expect((await raw(world, '/', { accept: 'text/html' })).body).not.toContain('/panel/');
    });
  });
});

describe('the policies of the panel', () => {
  const policyOf = (config: WorldOptions['config'], path = '/panel/') =>
    withPanel(config === undefined ? {} : { config }, async (world) => (await raw(world, path)).headers);

  test('the panel runs its own files only, and talks to the service and the issuer', async () => {
    const headers = await policyOf({ production: true, ...ISSUER });
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; font-src 'self'; connect-src 'self' https://idp.example.com; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    );
    expect(headers).toMatchObject({
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-frame-options': 'DENY',
    });
    expect(headers['permissions-policy']).toMatch(/^accelerometer=\(\), camera=\(\), .*xr-spatial-tracking=\(\)$/);
    expect(headers['permissions-policy']).not.toContain('clipboard-write');
  });

  test('in development pictures of this machine are shown too', async () => {
    const { 'content-security-policy': policy } = await policyOf({ production: false });
    expect(policy).toContain("; img-src 'self' data: https: http://localhost:* http://127.0.0.1:*; ");
    expect(policy).toContain("; connect-src 'self'; ");
  });

  test('the preview of a mail is an origin of its own, in which only its own script runs', async () => {
    const hash = createHash('sha256').update(SCRIPT).digest('base64');
    const headers = await policyOf({}, '/panel/preview.html');
    expect(headers['content-security-policy']).toBe(
      `sandbox allow-scripts; default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src https: data: http://localhost:* http://127.0.0.1:*; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`,
    );
    expect(previewPolicy('', true)).toContain('; img-src https: data:; ');
    expect(headers['x-frame-options']).toBe('SAMEORIGIN');
  });

  test.each([
    '<p>',
    '<script>1</script><script>2</script>',
    '<script src="x.js"></script>',
    '<script>"<script>"</script>',
  ])('a preview without exactly one inline script runs none: %s', (page) => {
    expect(previewPolicy(page, true)).toContain("; script-src 'none'; ");
  });

  test('the script of a preview may be a module', () => {
    const hash = createHash('sha256').update('\nlet a = 1 > 0;\n').digest('base64');
    const page = '<head><script type="module">\nlet a = 1 > 0;\n</script></head><script src="/x.js"></script>';
    expect(previewPolicy(page, true)).toContain(`; script-src 'sha256-${hash}'; `);
  });
});

describe('what the panel is told', () => {
  const settings = async (config: WorldOptions['config'] = {}, services: Record<string, unknown> = {}) =>
    await withPanel({ config, services }, async (world) => {
      const { headers, body } = await raw(world, '/panel/config.json');
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' });
      return JSON.parse(body) as Record<string, unknown>;
    });

  test('with a provider the panel gets its client', async () => {
    expect(await settings({ production: true, ...ISSUER, panel: ENABLED })).toEqual({
      signIn: 'oidc',
      issuer: 'https://idp.example.com/realm',
      clientId: 'panel',
      scope: 'openid',
      authorizeParams: { audience: 'usher' },
      publicUrl: 'https://usher.example.com',
      version: '1.2.3',
      languages: ['cs', 'en'],
      mailbox: false,
      production: true,
    });
  });

  test('without a client it is unconfigured, and in development it signs in by itself', async () => {
    const panel = { ...ENABLED, clientId: null };
    expect(await settings({ ...ISSUER, panel })).toMatchObject({ signIn: 'unconfigured', clientId: null });
    const local = { developmentSignIn: { code: 'the-code' }, mailbox: {} };
    const told = await settings({ panel }, local);
    expect(told).toMatchObject({ signIn: 'development', issuer: null, mailbox: true, production: false });
    expect(JSON.stringify(told)).not.toContain('the-code');
  });

  test('the language registry is read once for many, and trouble with it is an error', async () => {
    let reads = 0;
    const languages = {
      list: async () => {
        if (++reads === 1) throw new Error('the database is away');
        return [{ code: 'en' }];
      },
    };
    await withPanel({ services: { languages } }, async (world) => {
      expect((await raw(world, '/panel/config.json')).status).toBe(500);
      for (let n = 0; n < 5; n++) expect((await raw(world, '/panel/config.json')).status).toBe(200);
      expect(reads).toBe(2);
    });
  });
});

describe('the host of the panel', () => {
  test.each([
    ['127.0.0.1:PORT', 'http://localhost:PORT/panel/people?code=x'],
    ['[::1]:PORT', 'http://localhost:PORT/panel/people?code=x'],
    // A tunnel has a port of its own.
    ['127.0.0.1:9000', 'http://localhost:9000/panel/people?code=x'],
    ['localhost:9000', null],
    ['LOCALHOST:PORT', null],
    ['evil.example', null],
    ['127.0.0.1.nip.io', null],
  ])('by %s the panel leads to %s', async (host, target) => {
    await withPanel({}, async (world) => {
      const at = (text: string) => text.replace('PORT', String(world.port));
      const { status, headers } = await raw(world, '/panel/people?code=x', { host: at(host) });
      expect([status, headers.location]).toEqual(target === null ? [200, undefined] : [308, at(target)]);
    });
  });

  test('the files of the documentation are served under every name: its page moves by itself', async () => {
    await withPanel({}, async (world) => {
      const host = `127.0.0.1:${world.port}`;
      expect((await raw(world, '/panel/docs/swagger-ui.css', { host })).status).toBe(200);
      expect((await raw(world, '/panel/assets/index-a1.js', { host })).status).toBe(308);
    });
  });

  test('behind a proxy that names this machine the panel leads nowhere else', async () => {
    await withPanel({ config: { publicUrl: 'https://usher.example.com' } }, async (world) => {
      expect((await raw(world, '/panel/', { host: '127.0.0.1:8080' })).status).toBe(200);
    });
  });
});

describe('the panel among other requests', () => {
  test('one pattern stands for all of it in metrics and log, without paths and queries', async () => {
    await withPanel({ logLevel: 'debug' }, async (world) => {
      for (const path of ['/panel/', '/panel/people/ada@example.com?code=secret-code', '/panel/assets/gone.js'])
        await raw(world, path);
      const { text } = await ask(`${world.opsUrl}/metrics`);
      expect(text).toContain('usher_http_requests_total{method="GET",route="/panel/*",status="200"} 2');
      expect(text).toContain('usher_http_requests_total{method="GET",route="/panel/*",status="404"} 1');
      expect(text).not.toContain('people');
      expect(world.lines.filter(({ route, level }) => route === '/panel/*' && level === 'info')).toHaveLength(1);
      expect(JSON.stringify(world.lines)).not.toMatch(/secret-code|ada@example/);
    });
  });

  test('rate limits do not count the panel', async () => {
    const http = { host: '127.0.0.1', port: 0, trustProxy: false, rateLimit: 2 };
    await withPanel({ config: { http } }, async (world) => {
      for (let n = 0; n < 10; n++) expect((await raw(world, '/panel/assets/index-a1.js')).status).toBe(200);
      expect((await raw(world, '/api/openapi.json')).status).toBe(200);
    });
  });

  test("the operators' listener has no panel", async () => {
    await withPanel({}, async (world) => {
      expect((await ask(`${world.opsUrl}/panel/`)).status).toBe(404);
      expect((await ask(`${world.opsUrl}/`, { headers: { accept: 'text/html' } })).status).toBe(404);
    });
  });
});

describe('the page at /', () => {
  const PLACES = ['/panel/', '/api/docs', '/panel/mailbox'];
  const linksOf = (page: string) => [...page.matchAll(/href="([^"]+)"/g)].map(([, path]) => path);

  test('a person who opens / finds panel, documentation and mailbox', async () => {
    await withPanel({ services: { mailbox: {} } }, async (world) => {
      const { status, headers, body } = await raw(world, '/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
      expect([status, linksOf(body)]).toEqual([200, PLACES]);
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; style-src 'sha256-[\w+/=]+'; form-action 'none'; /,
      );
      expect(headers.vary?.toLowerCase()).toContain('accept');
    });
    await withPanel({}, async (world) => {
      const { body } = await raw(world, '/', { accept: 'text/html' });
      expect(linksOf(body)).toEqual(PLACES.slice(0, 2));
    });
  });

  test.each([[undefined], ['*/*'], ['application/json']])('who accepts %s gets the paths', async (accept) => {
    const headers = accept === undefined ? {} : { accept };
    const [panel, documentation, mailbox] = ['/panel/', '/api/docs', '/dev/mail'];
    const data = { panel, documentation, openapi: '/api/openapi.json', mailbox };
    await withPanel({ services: { mailbox: {} } }, async (world) => {
      const answer = await raw(world, '/', headers);
      expect([answer.status, JSON.parse(answer.body)]).toEqual([200, { success: true, data }]);
      expect(answer.headers.vary?.toLowerCase()).toContain('accept');
      const refused = await ask(`${world.url}/?utm_source=mail`, { method: 'POST', headers: { accept: 'text/html' } });
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
      expect((await ask(`${world.url}/`, { method: 'OPTIONS' })).status).toBe(204);
      // A target in absolute form without a path.
      expect((await raw(world, 'http://elsewhere.example', headers)).status).toBe(200);
    });
    await withPanel({}, async (world) => {
      expect(JSON.parse((await raw(world, '/', headers)).body).data).toEqual({ ...data, mailbox: null });
    });
  });
});
