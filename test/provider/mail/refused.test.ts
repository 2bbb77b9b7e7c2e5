import { describe, expect, test } from '@jest/globals';
import { KINDS } from '../../support/databases.ts';
import { notifyInTurn } from '../../support/provider/notifier.ts';
import { Rest } from '../../support/rest.ts';
import { useMailWorld } from './mail-world.ts';
import { mailBody, post, signature } from './provider-mails.ts';

const LIST = '/api/idp/admin/mails';

interface Listed {
  id: number;
  reason: string;
  deliveries: number;
  email: string | null;
  orgId: string | null;
  eventType: string | null;
  sentAt: string | null;
}

describe.each(KINDS)('e-mails that no repetition can mend (%s)', (kind) => {
  const world = useMailWorld(kind);
  const send = (body: string) => post(world.usher.rest, body, signature(body));
  const root = () => Rest.as(world.usher, 'admin@example.com');
  const newest = async (): Promise<Listed> => (await (await root()).get(LIST)).body.data.mails[0];
  const elsewhere = (orgID: string) => mailBody({ args: { orgID }, url: 'https://idp.example.com/x' });

  test('the first delivery answers the error, and the same body again is taken as refused', async () => {
    for (const [body, status, reason] of [
      [elsewhere('901').body, 422, 'UNKNOWN_ORGANIZATION'],
      [elsewhere('').body, 422, 'UNKNOWN_ORGANIZATION'],
      ['{"contextInfo":{}}', 400, 'VALIDATION_FAILED'],
      ['{', 400, 'VALIDATION_FAILED'],
      [mailBody({ eventType: 'x.y', templateData: { subject: '', title: '' } }).body, 400, 'VALIDATION_FAILED'],
      [mailBody({ to: 'nobody' }).body, 400, 'VALIDATION_FAILED'],
    ] as const) {
      const first = await send(body);
      expect([first.status, first.body.details.code]).toEqual([status, reason]);
      for (const deliveries of [2, 3]) {
        const again = await send(body);
        expect([again.status, again.body.data]).toEqual([200, { status: 'refused', reason }]);
        expect(await newest()).toMatchObject({ reason, deliveries, sentAt: null });
      }
    }
    const { text } = await scrape(world.usher.rest);
    expect(text).toMatch(/usher_idp_mails_refused_total\{reason="UNKNOWN_ORGANIZATION"\} 2/);
    const { events } = (await (await root()).get('/api/idp/admin/events')).body.data;
    expect(events[0]).toMatchObject({ source: 'mail', outcome: 'refused', reason: 'VALIDATION_FAILED' });
  });

  test('a refused mail goes out once when a brand carries its organization, and says nothing before', async () => {
    const { body, code } = elsewhere('902');
    await send(body);
    await send(body);
    const { id, ...listed } = await newest();
    expect(listed).toMatchObject({ orgId: '902', email: 'gigi@example.com', eventType: 'user.human.email.code.added' });
    expect(JSON.stringify(listed)).not.toContain(code);
    const rows = await world.usher.app.database.read((tx) =>
      tx.kysely.selectFrom('refused_mail').selectAll().execute(),
    );
    expect(JSON.stringify(rows)).not.toContain(code);
    const caller = await root();
    const path = `${LIST}/${id}/send`;
    expect((await caller.post(path, {})).body.details.code).toBe('UNKNOWN_ORGANIZATION');
    const brand = (
      await caller.post('/api/admin/brands', {
        slug: `late-${kind}`,
        name: 'Late',
        emailFrom: 'late@example.com',
        idpOrgId: '902',
        smtp: { host: '127.0.0.1', port: world.sink.port },
      })
    ).body.data;
    const before = world.sink.mails.length;
    world.sink.fault = { at: 'rcpt', code: 451, words: '4.7.1 later' };
    expect((await caller.post(path, {})).status).toBe(502);
    world.sink.fault = null;
    const answers = await Promise.all([caller.post(path, {}), caller.post(path, {})]);
    // The second waits for the first, or comes when it has gone out.
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
    expect((await world.sink.next()).parsed.text).toContain(code);
    expect(world.sink.mails.length - before).toBe(1);
    expect((await newest()).sentAt).not.toBeNull();
    expect((await caller.post(path, {})).status).toBe(409);
    expect((await send(body)).body.data.status).toBe('duplicate');
    const [record] = await world.audits();
    expect(record).toMatchObject({ actor: 'user:admin@example.com', subject: 'gigi@example.com' });
    expect((await caller.post(`${LIST}/999999/send`, {})).status).toBe(404);
    await caller.put(`/api/admin/brands/${brand.id}`, { idpOrgId: null });
  });

  test('a brand that comes meanwhile sends the next delivery', async () => {
    const { body, code } = elsewhere('903');
    expect((await send(body)).status).toBe(422);
    const caller = await root();
    const made = await caller.post('/api/admin/brands', {
      slug: `soon-${kind}`,
      name: 'Soon',
      emailFrom: 'soon@example.com',
      idpOrgId: '903',
      smtp: { host: '127.0.0.1', port: world.sink.port },
    });
    expect(made.status).toBe(201);
    expect((await send(body)).body.data.status).toBe('sent');
    expect((await world.sink.next()).parsed.text).toContain(code);
    expect((await newest()).sentAt).not.toBeNull();
  });

  test("one organization's refused mail does not hold up another's, with the provider's own notifier", async () => {
    const earlier = mailBody();
    const stuck = elsewhere('904');
    const reset = mailBody({ eventType: 'user.human.password.code.added' });
    const before = world.sink.mails.length;
    // One after the other, and the batch again until each is taken, as the provider in the field does it.
    const batch = [earlier.body, stuck.body, reset.body];
    const tries = await notifyInTurn(batch, async (body) => (await send(body)).status);
    expect((await world.sink.next()).parsed.text).toContain(earlier.code);
    expect((await world.sink.next()).parsed.text).toContain(reset.code);
    // Not ten tries of it: the second is taken, and the one before it came again and went out once.
    expect(tries).toEqual([200, 422, 200, 200, 200]);
    expect(world.sink.mails.length - before).toBe(2);
  });

  test('a mail that the mail server refuses for now is tried until it is taken, and holds nothing back for good', async () => {
    const { body, code } = mailBody();
    const { id } = await newest();
    world.sink.fault = { at: 'rcpt', code: 451, words: '4.7.1 later' };
    let deliveries = 0;
    const tries = await notifyInTurn([body], async (one) => {
      if (++deliveries === 10) world.sink.fault = null;
      return (await send(one)).status;
    });
    expect(tries).toEqual([...Array.from({ length: 9 }, () => 502), 200]);
    expect((await world.sink.next()).parsed.text).toContain(code);
    // It was never refused for good.
    expect((await newest()).id).toBe(id);
  });

  test('only SuperAdmins see and send them', async () => {
    const plain = await Rest.as(world.usher, 'ben@example.com');
    expect((await plain.get(LIST)).status).toBe(403);
    expect((await plain.post(`${LIST}/1/send`, {})).status).toBe(403);
  });

  test('an erased person takes their refused mails along, and an export names them', async () => {
    const body = mailBody({ to: 'gone@example.com', args: { orgID: '905' } }).body;
    await send(body);
    const caller = await root();
    await world.usher.app.database.change(async (tx) => {
      await tx.kysely.insertInto('person').values({ email: 'gone@example.com' }).execute();
      return { result: null, scopes: [] };
    });
    const file = (await caller.get('/api/users/gone@example.com/export')).body;
    expect(file.person.refusedMails).toMatchObject([{ reason: 'UNKNOWN_ORGANIZATION', orgId: '905' }]);
    const erased = await caller.post('/api/users/gone@example.com/erase');
    expect([erased.status, erased.body.data.removed.refusedMails]).toEqual([200, 1]);
    expect((await newest()).email).not.toBe('gone@example.com');
  });
});

async function scrape(rest: string): Promise<{ text: string }> {
  return { text: await (await fetch(`${rest}/metrics`)).text() };
}
