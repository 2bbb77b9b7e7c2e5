/** A million deliveries wait: the provider's mails still leave at once, and memory stays as it is while they are worked off. */
import { mailBody, signature } from '../../test/provider/mail/provider-mails.ts';
import type { Lab } from '../lab.ts';
import { APP, Newsroom, ORGANIZATION, SIGNING_KEY } from '../newsroom.ts';
import { memory } from '../processes.ts';
import { percentile, type Row, row } from '../report.ts';

export interface Load {
  channel: 'email' | 'push';
  count: number;
  readers: number;
}

const CONTENT = {
  email: `jsonb_build_object('to', p.email, 'subject', 'Invoice ' || n, 'html', '<p>' || repeat('An invoice is due. ', 20) || n || '</p>',
    'text', repeat('An invoice is due. ', 20) || n, 'locale', 'en', 'fromName', null,
    'unsubscribe', jsonb_build_object('base', 'http://localhost', 'person', p.id, 'type', 1))`,
  push: `jsonb_build_object('title', 'Invoice ' || n, 'body', repeat('An invoice is due. ', 5), 'icon', '/icon.png', 'url', '/invoices/' || n)`,
};
const LANE = { email: `'brand:default'`, push: `'push:localhost'` };

/** Queues deliveries past the service, all due at once. */
export async function load(room: Newsroom, { channel, count, readers }: Load): Promise<void> {
  const { sql } = room;
  await sql.query('begin');
  // Every reference is good; looking each up would take longer than the rest.
  await sql.query('set local session_replication_role = replica');
  await sql.query(
    `with p as materialized (
       select id, email, row_number() over (order by id) as at from person where email like 'reader%'),
     made as (
       insert into notification (application_id, notification_type_id, person_id, subject, payload, status, locale)
       select a.id, t.id, p.id, 'Invoice ' || n, '{}', 'queued', 'en'
       from generate_series(1, $1::int) n join p on p.at = n % $2::int + 1
       join application a on a.code = $3 join notification_type t on t.application_id = a.id and t.code = 'invoice'
       returning id, person_id)
     insert into delivery (notification_id, channel, content, lane)
     select m.id, '${channel}', c.content, ${LANE[channel]}
     from made m, lateral (select m.id as n) as x, person p, lateral (select ${CONTENT[channel]} as content) c
     where p.id = m.person_id`,
    [count, readers, APP],
  );
  await sql.query('commit');
  await sql.query('analyze notification, delivery');
}

/** A mail of the identity provider, answered once the mail server has it. */
async function authMail(url: string): Promise<number> {
  const { body } = mailBody({ to: 'reader1@example.com', args: { orgID: ORGANIZATION } });
  const startedAt = performance.now();
  const response = await fetch(`${url}/api/idp/notifications/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idp-signature': signature(body, { key: SIGNING_KEY }) },
    body,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`the provider's mail was answered ${response.status}: ${text.slice(0, 300)}`);
  return performance.now() - startedAt;
}

export async function backlog(lab: Lab): Promise<Row[]> {
  const { quick } = lab.settings;
  const count = quick ? 50_000 : 1_000_000;
  const seconds = quick ? 8 : 30;
  const readers = 10_000;
  const room = await Newsroom.open(lab, { readers });
  try {
    await authMail(room.service.url);
    lab.say(`backlog: queueing ${count.toLocaleString('en-US')} deliveries`);
    await load(room, { channel: 'email', count, readers });
    const { mails: before } = await room.counts();
    // Until it works at full speed.
    await new Promise((resolve) => setTimeout(resolve, quick ? 3000 : 8000));
    const settled = memory(room.service.pid).rss;
    const latencies: number[] = [];
    let largest = settled;
    const end = performance.now() + seconds * 1000;
    const startedAt = performance.now();
    const { mails: first } = await room.counts();
    while (performance.now() < end) {
      latencies.push(await authMail(room.service.url));
      largest = Math.max(largest, memory(room.service.pid).rss);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { mails: last } = await room.counts();
    const perSecond = ((last - first - latencies.length) / (performance.now() - startedAt)) * 1000;
    if (last - before >= count) throw new Error('the backlog was gone before the end');
    return [
      row('backlog', `auth mail behind ${count.toLocaleString('en-US')}, p50`, 'ms', [percentile(latencies, 0.5)]),
      row('backlog', `auth mail behind ${count.toLocaleString('en-US')}, p99`, 'ms', [percentile(latencies, 0.99)], {
        atMost: 2000,
      }),
      row('backlog', 'other mails meanwhile', '/s', [perSecond]),
      row('backlog', 'RSS', 'MB', [settled]),
      row('backlog', `growth of RSS in ${seconds} s`, 'MB', [largest - settled], { atMost: 50 }),
    ];
  } finally {
    await room.close();
  }
}
