import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MAX_REASON, REASON_HEADER } from '../../src/base/reason.ts';
import type { Route } from '../../src/gateway/route/route.ts';
import { gatewayRoutes } from '../../src/gateway/routes.ts';
import type { AuditRecord, ErrorBody } from '../../src/gen/api.ts';
import { isAdministrativeWrite, nameOf } from '../matrix/expectations.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

/** Why somebody wrote what they wrote (docs/reference/administration.md#reasons). The routes are asked from their own values. */
const WRITES = gatewayRoutes({ production: false }).filter((route) => route.refusal !== null);
const REASON = 'Nováková je na dovolené, 東京 → ticket "42" 🙂';
const SHOP = {
  application: { code: 'shop', name: 'Shop' },
  entities: [{ code: 'ticket', name: 'Ticket' }],
  permissions: [{ code: 'ticket.read', type: 'tiered' }],
  roles: [{ code: 'clerk', permissions: { 'ticket.read': 'view' } }],
};

const BROKEN: Record<string, string> = {
  'no text': '',
  'blanks alone': '%20%20',
  'a line break': 'one%0Atwo',
  'a NUL': 'one%00two',
  'a separator of lines': 'one%E2%80%A8two',
  'half an escape': '100%',
  'bytes that are no UTF-8': '%C3%28',
  'half of a character': '%ED%A0%80',
  'too many characters': 'a'.repeat(MAX_REASON + 1),
  'too many characters, encoded': '%C5%99'.repeat(MAX_REASON + 1),
};

for (const kind of KINDS) {
  describe(`reasons of administrative writes (${kind})`, () => {
    let storage: TestStorage;
    let usher: RunningUsher;
    let root: Rest;

    beforeAll(async () => {
      storage = await createStorage(kind);
      usher = await startUsher(storage, {
        env: { SUPERADMINS: 'root@example.com', IDP_WEBHOOK_SECRET: 'the-secret-of-the-webhook-here' },
      });
      root = await Rest.as(usher, 'root@example.com');
    }, 60_000);
    afterAll(async () => {
      await usher?.close();
      await storage?.remove();
    }, 60_000);

    async function ask({ method, path }: Route, reason: string, email = 'root@example.com'): Promise<Response> {
      const values: Record<string, string> = { appCode: 'shop', email: 'target@example.com' };
      return await fetch(usher.rest + path.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? '1'), {
        method: method.toUpperCase(),
        headers: {
          authorization: `Bearer ${await usher.token(email)}`,
          [REASON_HEADER]: reason,
          'content-type': path.includes('manifest') ? 'application/yaml' : 'application/json',
        },
        ...(method === 'delete' ? {} : { body: '{}' }),
      });
    }

    test('every administrative write takes one', () => {
      const silent = gatewayRoutes({ production: false }).filter(
        (route) => isAdministrativeWrite(route) && !route.headers.includes(REASON_HEADER),
      );
      expect(silent.map(nameOf)).toEqual([]);
      expect(WRITES.length).toBeGreaterThan(50);
    });

    test('a malformed one is refused at every write, naming header and rule', async () => {
      const wrong: string[] = [];
      for (const route of WRITES) {
        const response = await ask(route, 'one%0Atwo');
        const { message } = (await response.json()) as ErrorBody;
        // A body of another form is refused before; each has one that is well formed elsewhere in this suite.
        if (response.status === 415) continue;
        const names = message.includes(REASON_HEADER) && message.includes('1 to 500 characters');
        if (response.status !== 400 || !names) wrong.push(`${nameOf(route)}: ${response.status} ${message}`);
      }
      expect(wrong).toEqual([]);
    });

    test.each(Object.entries(BROKEN))('%s is none', async (_, reason) => {
      const path = '/api/languages';
      const body = { code: 'eo', name: 'Esperanto', nativeName: 'Esperanto' };
      const { status, body: answer } = await root.post(path, body, { [REASON_HEADER]: reason });
      expect([status, answer.details.code, answer.details.issues[0].path]).toEqual([
        400,
        'VALIDATION_FAILED',
        REASON_HEADER,
      ]);
      expect((await root.get('/api/languages')).body.data.map(({ code }: { code: string }) => code)).not.toContain(
        'eo',
      );
    });

    test('a refused write keeps it, at every write', async () => {
      const missing: string[] = [];
      for (const route of WRITES) {
        // Decided by the handler, which has read the whole request.
        if (route.guard.kind === 'anyAdministrator') continue;
        expect((await ask(route, encodeURIComponent(`why ${nameOf(route)}`), 'nobody@example.com')).status).toBe(403);
        const { body } = await root.get(`/api/admin/audit?action=${route.refusal}&actor=nobody@example.com`);
        const reasons = body.data.map(({ reason }: { reason: string }) => reason);
        if (!reasons.includes(`why ${nameOf(route)}`)) missing.push(nameOf(route));
      }
      expect(missing).toEqual([]);
    }, 60_000);

    test('every record of a write has it, in lists, searches and the data of author and subject', async () => {
      const author = await Rest.as(usher, 'root@example.com');
      const headers = { [REASON_HEADER]: encodeURIComponent(REASON) };
      const begun = new Date().toISOString();
      const done = async (answered: Promise<{ status: number; body: unknown }>) => {
        const { status, body } = await answered;
        expect(status < 300 ? 'done' : JSON.stringify(body)).toBe('done');
      };
      const users = '/api/users/ann@example.com';
      await done(author.post('/api/manifests/apply', SHOP, headers));
      await done(author.post(`${users}/apps/shop/roles`, { role: 'clerk' }, headers));
      const overrides = { permissions: [{ permission: 'ticket.read', granted: false }] };
      await done(author.put(`${users}/apps/shop/resources/ticket/42/permissions`, overrides, headers));
      await done(author.post('/api/users/admins/super', { email: 'ann@example.com' }, headers));
      await done(
        author.post('/api/users/import', { people: [{ email: 'ben@example.com', roles: ['shop/clerk'] }] }, headers),
      );
      await done(author.post(`${users}/offboard`, {}, headers));
      await done(author.post('/api/languages', { code: 'eo', name: 'Esperanto', nativeName: 'Esperanto' }, headers));
      const { body } = await author.get(`/api/admin/audit?from=${begun}&limit=100`);
      const records: { action: string; reason: string | null }[] = body.data;
      expect(records.filter(({ reason }) => reason !== REASON).map(({ action }) => action)).toEqual([]);
      expect(new Set(records.map(({ action }) => action)).size).toBeGreaterThan(6);

      const found = await author.get(`/api/admin/audit?q=${encodeURIComponent('Nováková')}&action=language.created`);
      expect(found.body.data).toHaveLength(1);
      for (const person of ['ann', 'root']) {
        const exported = await author.get(`/api/users/${person}@example.com/export`);
        const { audit } = exported.body as { audit: AuditRecord[] };
        expect(audit.find(({ action }) => action === 'override.replaced')?.reason).toBe(REASON);
      }
    });

    test('without one the record has none, and a route that is no administrative write ignores it', async () => {
      expect(
        (await root.post('/api/languages', { code: 'ia', name: 'Interlingua', nativeName: 'Interlingua' })).status,
      ).toBeLessThan(300);
      const { body } = await root.get('/api/admin/audit?subject=ia');
      expect(body.data[0]).toMatchObject({ action: 'language.created', reason: null });
      expect((await root.get('/api/profile/me', { [REASON_HEADER]: 'one%0Atwo' })).status).toBe(200);
    });

    test('500 characters are counted as people count them', async () => {
      const longest = encodeURIComponent('🙂'.repeat(MAX_REASON));
      const { status } = await root.put(
        '/api/languages/ia',
        { name: 'Interlingue', nativeName: 'Interlingue' },
        { [REASON_HEADER]: longest },
      );
      expect(status).toBe(200);
    });

    test('an erasure takes the words about a person, and their address from words about others', async () => {
      const because = (text: string) => ({ [REASON_HEADER]: encodeURIComponent(text) });
      await root.post('/api/users/admins/super', { email: 'mia@example.com' }, because('Mia is ill'));
      await root.post(
        '/api/languages',
        { code: 'vo', name: 'Volapük', nativeName: 'Volapük' },
        because('asked by Mia@Example.com, not xmia@example.com'),
      );
      expect((await root.post('/api/users/mia@example.com/erase', undefined, because('Mia asked'))).status).toBe(200);
      const { body } = await root.get('/api/admin/audit?limit=100');
      const texts = JSON.stringify(body.data);
      expect(texts).not.toMatch(/(?<!x)mia@example\.com|Mia is ill/i);
      expect(texts).toMatch(/asked by erased-[0-9a-f]{32}, not xmia@example.com/);
    });

    test('preflights of listed origins name it', async () => {
      const response = await fetch(`${usher.rest}/api/languages`, {
        method: 'OPTIONS',
        headers: { origin: 'http://localhost:5173', 'access-control-request-method': 'POST' },
      });
      expect(response.headers.get('access-control-allow-headers')).toContain(REASON_HEADER);
    });
  });
}
