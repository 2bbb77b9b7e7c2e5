import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { readImage } from '../../src/brands/images.ts';
import { pruneImages } from '../../src/persistence/brands/images.ts';
import type { Tx } from '../../src/persistence/database.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest, type RestAnswer } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** Uploaded images of brands (docs/reference/brands.md#uploaded-images). */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const JPEG = Buffer.concat([Buffer.from('ffd8ffe000104a464946', 'hex'), Buffer.alloc(64)]);
const WEBP = Buffer.concat([Buffer.from('RIFF\x40\0\0\0WEBPVP8 ', 'latin1'), Buffer.alloc(64)]);
const SVG = `<?xml version="1.0"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd" [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<!-- a comment -->
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 8 8" onload="alert(1)">
  <style>.a{fill:#f00}</style>
  <style>@import url(https://evil.example.com/x.css);</style>
  <script>alert(2)</script><script href="https://evil.example.com/x.js"/>
  <defs><linearGradient id="g"><stop offset="0" stop-color="#fff"/></linearGradient></defs>
  <rect class="a" width="8" height="8" fill="url(#g)" onclick="alert(3)" style="stroke:url(https://evil.example.com/s)"/>
  <a href="javascript:alert(4)"><path d="M0 0h8"/></a>
  <image href="https://evil.example.com/p.png"/>
  <use xlink:href="#g"/><use href="https://evil.example.com/u.svg#x"/><use href="data:image/svg+xml,x"/>
  <foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><iframe src="https://evil.example.com"/></body></foreignObject>
  <animate attributeName="href" to="javascript:alert(5)"/><set attributeName="onclick" to="alert(6)"/>
  <text>&x; Ateliér &lt;script&gt;</text>
</svg>`;

describe('an SVG', () => {
  test('keeps what draws, and nothing that runs, links or loads', async () => {
    const { bytes, media, name } = await readImage(Buffer.from(SVG), 'image/svg+xml');
    const text = bytes.toString('utf8');
    expect([media, name]).toEqual(['image/svg+xml', expect.stringMatching(/^[0-9a-f]{40}\.svg$/)]);
    expect(text).not.toMatch(
      /script>|<script|on\w+=|evil|javascript|foreignObject|iframe|animate|<set|<image|<a |ENTITY|DOCTYPE|data:|passwd|@import/,
    );
    for (const kept of [
      'viewBox="0 0 8 8"',
      'linearGradient',
      'fill="url(#g)"',
      'xlink:href="#g"',
      '.a{fill:#f00}',
      'M0 0h8',
      'Ateliér',
    ])
      expect(text).toContain(kept);
    // Nothing more to take: the same bytes keep their name.
    expect((await readImage(bytes, 'image/svg+xml')).name).toBe(name);
  });

  test.each([
    '<svg xmlns="http://www.w3.org/2000/svg"><style>a{background:u\\72l(https://evil)}</style></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><style><![CDATA[@import "https://evil";]]></style></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><rect fill="url( &quot;https://evil&quot;)"/></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><x:script xmlns:x="http://www.w3.org/2000/svg">evil</x:script></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><SCRIPT>evil</SCRIPT><Script>evil()</Script></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><use href="&#104;ttps://evil"/></svg>',
    '<svg xmlns="http://www.w3.org/2000/svg"><style></style><![CDATA[<script>evil</script>]]></svg>',
  ])('%s is made harmless', async (text) => {
    const { bytes } = await readImage(Buffer.from(text), 'image/svg+xml');
    const kept = bytes.toString('utf8');
    expect(kept).not.toMatch(/<[\w:]*script|@import|u\\72l|url\(\s*["&]|https:\/\/evil/i);
  });
});

for (const kind of KINDS) {
  describe(`uploaded images (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let root: Rest;
    let brand: number;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, {
        env: { SUPERADMINS: 'root@example.com', PUBLIC_URL: 'https://usher.example.com' },
      });
      root = await Rest.as(usher, 'root@example.com');
      const { body } = await root.post('/api/admin/brands', { slug: 'atelier', name: 'Atelier' });
      brand = body.data.id;
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    async function put(
      part: string,
      bytes: Buffer | string,
      type: string,
      email = 'root@example.com',
    ): Promise<Pick<RestAnswer, 'status' | 'body'>> {
      const response = await fetch(`${usher.rest}/api/admin/brands/${brand}/${part}`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${await usher.token(email)}`, 'content-type': type },
        body: bytes as never,
      });
      return { status: response.status, body: await response.json() };
    }
    const served = (url: string) => fetch(url.replace('https://usher.example.com', usher.rest));

    test.each([
      ['image/png', PNG],
      ['image/jpeg', JPEG],
      ['image/webp', WEBP],
      ['image/svg+xml', Buffer.from(SVG)],
    ])('%s is kept and served to anybody, by a name that never changes what it means', async (type, bytes) => {
      const { status, body } = await put('logo', bytes, type);
      expect([status, body.data?.slug]).toEqual([200, 'atelier']);
      expect(body.data.logoUrl).toMatch(/^https:\/\/usher\.example\.com\/media\/[0-9a-f]{40}\.\w+$/);
      const response = await served(body.data.logoUrl);
      expect(response.status).toBe(200);
      const of = (name: string) => response.headers.get(name);
      expect(of('content-type')).toBe(type);
      expect(of('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(of('x-content-type-options')).toBe('nosniff');
      expect(of('content-security-policy')).toBe("default-src 'none'; style-src 'unsafe-inline'; sandbox");
      expect(of('cross-origin-resource-policy')).toBe('cross-origin');
      const got = Buffer.from(await response.arrayBuffer());
      if (type !== 'image/svg+xml') expect(got.equals(bytes)).toBe(true);
      expect((await put('logo', bytes, type)).body.data.logoUrl).toBe(body.data.logoUrl);
    });

    test('logo and icon are apart, and DELETE takes one away; its address still answers', async () => {
      const logo = (await put('logo', PNG, 'image/png')).body.data.logoUrl as string;
      const { body } = await put('icon', JPEG, 'image/jpeg');
      expect([body.data.logoUrl, body.data.iconUrl]).toEqual([logo, expect.stringMatching(/\.jpg$/)]);
      const gone = await root.delete(`/api/admin/brands/${brand}/logo`);
      expect([gone.status, gone.body.data.logoUrl, gone.body.data.iconUrl]).toEqual([200, null, body.data.iconUrl]);
      expect((await served(logo)).status).toBe(200);
    });

    test.each<[string, Buffer | string, string, number]>([
      ['a PNG that says JPEG', PNG, 'image/jpeg', 415],
      ['HTML that says SVG', '<html><svg></svg></html>', 'image/svg+xml', 415],
      ['text that says PNG', 'hello', 'image/png', 415],
      ['nothing', '', 'image/png', 415],
      ['another type', 'GIF89a', 'image/gif', 415],
      ['JSON', '{}', 'application/json', 415],
      ['one byte too many', Buffer.concat([PNG, Buffer.alloc(512 * 1024 + 1 - PNG.length)]), 'image/png', 413],
    ])('%s is refused, and changes nothing', async (_, bytes, type, status) => {
      const before = await root.get(`/api/admin/brands/${brand}`);
      expect((await put('logo', bytes, type)).status).toBe(status);
      expect((await root.get(`/api/admin/brands/${brand}`)).body.data).toEqual(before.body.data);
    });

    test('512 KiB are taken; only SuperAdmins upload; unknown brands and images are 404', async () => {
      const whole = Buffer.concat([PNG, Buffer.alloc(512 * 1024 - PNG.length)]);
      expect((await put('icon', whole, 'image/png')).status).toBe(200);
      expect((await put('logo', PNG, 'image/png', 'nobody@example.com')).status).toBe(403);
      expect((await root.delete('/api/admin/brands/999999/logo')).status).toBe(404);
      for (const name of ['x', `${'0'.repeat(40)}.png`, '..%2fetc'])
        expect((await fetch(`${usher.rest}/media/${name}`)).status).toBe(404);
    });

    test('an image goes 90 days after the last brand that had it, and no sooner', async () => {
      const { logoUrl } = (await put('logo', WEBP, 'image/webp')).body.data as { logoUrl: string };
      const name = logoUrl.split('/').at(-1) ?? '';
      const change = (work: (tx: Tx) => Promise<unknown>) =>
        usher.app.database.change(async (tx) => ({ result: await work(tx), scopes: [] }));
      const note = (days: number) =>
        change((tx) =>
          sql`update image set shown_at = now() - make_interval(days => ${days}) where name = ${name}`.execute(
            tx.kysely,
          ),
        );
      const prune = () => change((tx) => pruneImages(tx.kysely));
      const age = async (days: number) => {
        await note(days);
        await prune();
      };
      await age(91);
      expect((await served(logoUrl)).status).toBe(200);
      // However long ago it was noted that a brand shows it.
      await note(200);
      await root.delete(`/api/admin/brands/${brand}/logo`);
      await prune();
      expect((await served(logoUrl)).status).toBe(200);
      await age(89);
      expect((await served(logoUrl)).status).toBe(200);
      await age(91);
      expect((await served(logoUrl)).status).toBe(404);
    });
  });
}
