import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PanelFolder } from '../../src/gateway/panel/files.ts';
import { type BuiltPanel, buildPanel, documentationFiles } from '../support/panel-folder.ts';
import { ask, errorShape, type Reply, startWorld } from './fixture.ts';

let built: BuiltPanel;
beforeAll(async () => {
  built = await buildPanel({ 'index.html': '', ...(await documentationFiles()) });
});
afterAll(async () => await built?.remove());

/** An answer of a service with these files. */
async function asked(path: string, folder: string, headers: Record<string, string> = {}): Promise<Reply> {
  const files = new PanelFolder(folder);
  const services = { panelFiles: () => files.files(), publicUrl: () => 'https://"usher".example.com' };
  const world = await startWorld({ services });
  try {
    return await ask(world.url + path, { headers });
  } finally {
    await world.close();
  }
}

test('the documentation page runs files of this service alone, without inline code and HTML from text', async () => {
  const { status, headers, text } = await asked('/api/docs', built.path);
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dompurify",
  );
  expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
  expect(headers.get('permissions-policy')).toContain('camera=()');
  expect(text).not.toMatch(/<script(?! src="\/panel\/docs\/)|<style|style="|\son\w+=/);
  expect(text).toContain('data-home="https://&quot;usher&quot;.example.com"');
});

test('every file that the documentation page names is served', async () => {
  const { text } = await asked('/api/docs', built.path);
  const named = [...text.matchAll(/(?:src|href)="(\/panel\/[^"]+)"/g)].map(([, path]) => path ?? '');
  expect(named).toHaveLength(4);
  for (const path of named) expect([path, (await asked(path, built.path)).status]).toEqual([path, 200]);
});

test('without the files the documentation says how to build them', async () => {
  const empty = await buildPanel({ 'index.html': '' });
  for (const folder of ['/nonexistent', empty.path]) {
    const page = await asked('/api/docs', folder, { accept: 'text/html' });
    expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
    expect(page.text).toContain('<code>npm run panel</code>');
    const { status, json } = await asked('/api/docs', folder);
    expect({ status, json }).toEqual(errorShape(503, 'UNAVAILABLE', 'PANEL_NOT_BUILT'));
  }
  await empty.remove();
});

test('a parameter that a relay added to the address of the documentation is ignored', async () => {
  const { status, text } = await asked('/api/docs?utm_source=<b>', built.path, { accept: 'text/html' });
  expect(status).toBe(200);
  expect(text).not.toContain('utm_source');
});
