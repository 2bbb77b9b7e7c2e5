import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { ProviderEvents } from '../../src/gen/api.ts';
import { type NewProviderEvent, noteEvent } from '../../src/provider/events.ts';
import { forEachDatabase, KINDS } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { useWorld, WEBHOOK_SECRETS } from './fixture.ts';
import { type MailWorld, useMailWorld } from './mail/mail-world.ts';
import { IDP, mailBody, post, signature } from './mail/provider-mails.ts';

const PATH = '/api/idp/admin/events';

describe.each(KINDS)('events of the webhook (%s)', (kind) => {
  const world = useWorld({ kind });
  const secret = { 'x-webhook-secret': WEBHOOK_SECRETS[0] };
  const tell = (eventType: string, eventId?: string) => {
    const body = { eventType, orgId: '100', user: { email: 'Ada@example.com' }, eventId };
    return world.nobody.send('POST', '/api/idp/webhook', body, secret);
  };
  const read = async (): Promise<ProviderEvents> => (await world.root.get(PATH)).body.data;

  test('events are listed with their outcomes, the newest first', async () => {
    for (const _ of [1, 2]) expect((await tell('user.created', 'e-1')).status).toBe(200);
    expect((await tell('org.renamed')).body.data).toEqual({ applied: false });
    expect((await tell('user.deactivated')).status).toBe(200);
    const refused = await world.nobody.send('POST', '/api/idp/webhook', { eventType: 'user.created' }, secret);
    expect(refused.status).toBe(400);
    const { events } = await read();
    expect(events.map(({ eventType, outcome, email }) => [eventType, outcome, email])).toEqual([
      ['user.deactivated', 'applied', 'ada@example.com'],
      ['org.renamed', 'ignored', null],
      ['user.created', 'unchanged', 'ada@example.com'],
      ['user.created', 'applied', 'ada@example.com'],
    ]);
    expect(events.every(({ source }) => source === 'webhook')).toBe(true);
  });

  test('only SuperAdmins read them, and who has the state gets 304', async () => {
    expect((await world.plain.get(PATH)).status).toBe(403);
    const { headers } = await world.root.get(PATH);
    expect((await world.root.get(PATH, { 'if-none-match': headers.get('etag') ?? '' })).status).toBe(304);
  });
});

describe.each(KINDS)("events of the provider's mails (%s)", (kind) => {
  const world: MailWorld = useMailWorld(kind);

  test('mails are listed with what came of them, and without what they say', async () => {
    const root = await Rest.as(world.usher, 'admin@example.com');
    const { body, code } = mailBody();
    expect((await post(world.usher.rest, body, signature(body))).status).toBe(200);
    await world.sink.next();
    expect((await post(world.usher.rest, body, signature(body))).body.data.status).toBe('duplicate');
    const { code: other } = await world.send({ eventType: 'user.something.new' });
    await world.sink.next();
    for (const _ of [1, 2]) {
      expect((await world.send({ args: { orgID: '404' }, url: `${IDP}/x` })).status).toBe(422);
    }
    const answer = await root.get(PATH);
    const { events, fallbacks, unknownOrganizations } = answer.body.data as ProviderEvents;
    expect(events.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['failed', 'UNKNOWN_ORGANIZATION'],
      ['failed', 'UNKNOWN_ORGANIZATION'],
      ['sent', 'unknown_event'],
      ['duplicate', null],
      ['sent', null],
    ]);
    expect(fallbacks).toMatchObject([{ eventType: 'user.something.new', reason: 'unknown_event', count: 1 }]);
    expect(unknownOrganizations).toMatchObject([{ orgId: '404', count: 2 }]);
    for (const secret of [code, other, IDP]) expect(JSON.stringify(answer.body)).not.toContain(secret);
  });
});

forEachDatabase('stored events', (fixture) => {
  const event: NewProviderEvent = {
    source: 'mail',
    eventType: `a\0b${'x'.repeat(500)}`,
    orgId: '\ud800',
    email: 'ada@example.com',
    outcome: 'failed',
    reason: 'SMTP_FAILED',
  };
  const count = () =>
    fixture.database.read(async (tx) => {
      const { rows } = await sql<{ n: number }>`select count(*)::int as n from provider_event`.execute(tx.kysely);
      return rows[0]?.n ?? 0;
    });

  test('texts of the provider are stored as far as a column takes them', async () => {
    await fixture.database.change(async (tx) => {
      await noteEvent(tx, event);
      return { result: null, scopes: [] };
    });
    const rows = await fixture.database.read((tx) =>
      tx.kysely.selectFrom('provider_event').select(['eventType', 'orgId']).execute(),
    );
    expect(rows).toEqual([{ eventType: `ab${'x'.repeat(198)}`, orgId: '\ufffd' }]);
  });

  test('the newest 5,000 events stay, and a few more', async () => {
    await fixture.database.change(async (tx) => {
      await sql`insert into provider_event (source, outcome) select 'webhook', 'ignored' from generate_series(1, 7000)`.execute(
        tx.kysely,
      );
      for (let n = 0; n < 100; n++) await noteEvent(tx, event);
      return { result: null, scopes: [] };
    });
    const kept = await count();
    expect(kept).toBeGreaterThanOrEqual(5000);
    expect(kept).toBeLessThanOrEqual(5100);
  });
});
