import { sql } from 'kysely';
import type { EmailContent, PushContent } from '../../src/delivery/channels.ts';
import { enqueue, type WrittenDelivery, writeDelivery } from '../../src/delivery/queue.ts';
import type { Database, Tx } from '../../src/persistence/database.ts';
import { ensurePeople } from '../../src/persistence/people/people.ts';

/** An application with one type, as much as a notification needs. */
export async function insertType(database: Database, code: string): Promise<{ app: number; type: number }> {
  const { result } = await database.change(async (tx) => {
    const { id: app } = await tx.kysely
      .insertInto('application')
      .values({ code, name: code })
      .returning('id')
      .executeTakeFirstOrThrow();
    const { id: type } = await tx.kysely
      .insertInto('notification_type')
      .values({ applicationId: app, code: 'news', name: 'News' })
      .returning('id')
      .executeTakeFirstOrThrow();
    return { result: { app, type }, scopes: [`p:${code}`] };
  });
  return result;
}

/** A send of that type to those people, which can be asked for again. */
export function sendOf({ app, people }: { app: string; people: readonly { to: string }[] }): object {
  return { appCode: app, type: 'news', recipients: people.map(({ to }) => to), idempotencyKey: app };
}

export interface Wanted {
  to: string;
  email?: Partial<EmailContent> & { brandId?: number | null };
  push?: Partial<PushContent>;
}

/** Accepts notifications as a send does: notifications and deliveries in one transaction. Answers their ids. */
export async function accept(
  database: Database,
  { app, type }: { app: number; type: number },
  wanted: readonly Wanted[],
): Promise<number[]> {
  const { result } = await database.change(async (tx) => ({ result: await store(tx, app, type, wanted), scopes: [] }));
  return result;
}

async function store(tx: Tx, app: number, type: number, wanted: readonly Wanted[]): Promise<number[]> {
  const people = await ensurePeople(
    tx,
    wanted.map(({ to }) => to),
  );
  const ids: number[] = [];
  const deliveries: WrittenDelivery[] = [];
  for (const { to, email, push } of wanted) {
    const { id } = await tx.kysely
      .insertInto('notification')
      .values({
        applicationId: app,
        notificationTypeId: type,
        personId: people.get(to) ?? 0,
        subject: 'News',
        payload: '{}',
        status: 'queued',
        locale: 'en',
      })
      .returning('id')
      .executeTakeFirstOrThrow();
    ids.push(id);
    if (email !== undefined) {
      const { brandId = null, ...content } = email;
      deliveries.push(writeDelivery(id, { channel: 'email', brandId, content: { ...emailContent(to), ...content } }));
    }
    if (push !== undefined) {
      deliveries.push(writeDelivery(id, { channel: 'push', brandId: null, content: { ...PUSH, ...push } }));
    }
  }
  await enqueue(tx, ReadableStream.from(deliveries), Promise.resolve(new Map(ids.map((id) => [id, id]))));
  return ids;
}

const PUSH: PushContent = {
  title: 'News',
  body: 'There is news.',
  icon: '/icon.png',
  url: 'https://app.example.com/7',
};

function emailContent(to: string): EmailContent {
  return {
    to,
    subject: 'News',
    html: '<p>There is news.</p>',
    text: 'There is news.',
    locale: 'en',
    fromName: null,
    unsubscribe: null,
  };
}

export interface DeliveryState {
  channel: 'email' | 'push';
  status: string;
  error: string | null;
  attempts: number;
  sent: boolean;
  /** Seconds until it is due; null when nothing is left to do. */
  dueIn: number | null;
}

export interface NotificationState {
  status: string;
  reason: string | null;
  deliveries: DeliveryState[];
}

/** Whether something has come of all of it. */
export const settled = ({ status }: NotificationState): boolean => status !== 'queued';

/** A notification and its deliveries as they stand. */
export async function stateOf(database: Database, id: number): Promise<NotificationState> {
  return await database.read(async (tx) => {
    const { rows } = await sql<{ status: string; reason: string | null }>`
      select status, status_reason as reason from notification where id = ${id}`.execute(tx.kysely);
    const { rows: deliveries } = await sql<DeliveryState>`
      select channel, status, error, attempts, sent_at is not null as sent,
             extract(epoch from due_at - now())::float8 as "dueIn"
        from delivery where notification_id = ${id} order by channel`.execute(tx.kysely);
    const [notification] = rows;
    if (notification === undefined) throw new Error(`no notification ${id}`);
    return { ...notification, deliveries };
  });
}

/** Makes everything that waits due now. */
export async function hurry(database: Database): Promise<void> {
  await database.change(async (tx) => {
    await sql`update delivery set due_at = now() where due_at is not null and status <> 'sending'`.execute(tx.kysely);
    return { result: null, scopes: [] };
  });
}

/** Asks until the answer satisfies. */
export async function until<T>(ask: () => T | Promise<T>, satisfied: (value: T) => boolean, ms = 15_000): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const value = await ask();
    if (satisfied(value)) return value;
    if (Date.now() > end) throw new Error(`it did not come to that: ${JSON.stringify(value).slice(0, 2000)}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
