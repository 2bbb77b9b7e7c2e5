/**
 * Sends: one notification a recipient, one delivery for each channel that applies, stored in one transaction. (docs/reference/notifications.md#sends.)
 * What was answered 202 survives a crash: the deliveries are in the table, and a worker finds them.
 */

import { hash } from 'node:crypto';
import { administer, type By, editorOf } from '../administration/administer.ts';
import { unknownApplication } from '../administration/records.ts';
import { CHANNEL_NAMES, type ChannelName } from '../base/channels.ts';
import { UsherError } from '../base/errors.ts';
import { mapInSlices, TimeSlicer, turn } from '../base/time-slice.ts';
import { CHANNELS } from '../delivery/channels.ts';
import { enqueue, type WrittenDelivery, writeDelivery } from '../delivery/queue.ts';
import type { WorkQueue } from '../directory/work-queue.ts';
import { holdApplication, readApplication } from '../persistence/catalog/applications.ts';
import { holdType, type TypeRow } from '../persistence/catalog/notification-types.ts';
import type { Database, Outcome, Tx } from '../persistence/database.ts';
import {
  claimSendRequest,
  findSendRequest,
  holdRecipients,
  insertNotifications,
  keepAnswer,
  type NewNotification,
  type RecipientRow,
  type RequestName,
  type SendRequestRow,
} from '../persistence/notifications/sends.ts';
import type { RenderBudget } from './budget.ts';
import { channelsFor } from './channels.ts';
import {
  compose,
  gather,
  inboxWordsOf,
  type Material,
  type Message,
  type SendOrder,
  unknownReference,
  wordsOf,
} from './compose.ts';
import type { Renderer, RenderWatch } from './render.ts';
import type { Unsubscriptions } from './unsubscribe.ts';
import { refuseTarget } from './urls.ts';

export type { SendOrder } from './compose.ts';

/** What is told of each recipient. */
export interface SentNotification {
  id: number;
  email: string;
  status: 'queued' | 'sent' | 'suppressed';
  statusReason: string | null;
}

/** Recipients from which on a send waits for its turn: among locks of so many people whoever came first is not served first. */
const LARGE = 50;

export interface SendsOptions {
  readonly database: Database;
  readonly renderer: Renderer;
  readonly budget: RenderBudget;
  readonly unsubscriptions: Pick<Unsubscriptions, 'target'>;
  /** Large sends are stored in the order in which they came. */
  readonly turns: Pick<WorkQueue, 'take'>;
  readonly allowHttp: boolean;
  /** Told whose inboxes have something new, after the commit. */
  readonly arrived: (emails: readonly string[]) => void;
  /** Told that there is something to deliver, after the commit. */
  readonly ring: () => void;
}

/** What a caller may say beside the order. */
export interface SendOptions {
  readonly idempotencyKey?: string | null;
  /** Aborting it ends a send that is not being stored yet. */
  readonly signal?: AbortSignal | undefined;
}

/** A send that named a key. Backends and administrators have keys of their own: neither can take one of the other's. */
interface Request {
  readonly by: RequestName['by'];
  readonly key: string;
  readonly bodyHash: string;
}

interface Stored {
  readonly notifications: SentNotification[];
  /** Whose inbox has something new. */
  readonly reached: readonly string[];
  /** Answered with what an earlier send was. */
  readonly repeated: boolean;
}

export class Sends {
  readonly #options: SendsOptions;

  constructor(options: SendsOptions) {
    this.#options = options;
  }

  /** For backends. UNKNOWN_REFERENCE for an unknown application, type or template key; further as `compose`. */
  bySystem(app: string, order: SendOrder, options: SendOptions = {}): Promise<SentNotification[]> {
    const unknown = () => unknownReference('appCode', `appCode names no application: ${app}`);
    return this.#send({ app, order, by: 'key', unknown, ...options }, async (store) => {
      const { result } = await this.#options.database.change(store);
      return result;
    });
  }

  /** By an administrator of the application; NOT_FOUND for an unknown one. */
  byAdministrator(app: string, order: SendOrder, by: By, options: SendOptions = {}): Promise<SentNotification[]> {
    const about = { app, action: 'notification.sent', guard: editorOf(app) };
    const unknown = () => unknownApplication(app);
    return this.#send({ app, order, by: 'administrator', unknown, ...options }, async (store) => {
      const { result } = await administer(this.#options.database, by, about, async ({ tx, audit }) => {
        const outcome = await store(tx);
        const { notifications, repeated } = outcome.result;
        if (!repeated) {
          const after = { recipients: notifications.length, templateKey: order.templateKey };
          audit({ action: about.action, subject: order.type, after });
        }
        return outcome;
      });
      return result;
    });
  }

  async #send(asked: Asked, write: Write): Promise<SentNotification[]> {
    const { database, budget, allowHttp, arrived, ring } = this.#options;
    const { app, order, by, unknown, idempotencyKey = null, signal } = asked;
    for (const field of ['url', 'icon'] as const) refuseTarget(field, order[field], allowHttp);
    const request = idempotencyKey === null ? null : { by, key: idempotencyKey, bodyHash: hashOf(order) };

    const read = await database.read(async (tx) => {
      const found = await readApplication(tx, app);
      if (found === undefined) throw unknown();
      const earlier = request && (await findSendRequest(tx, { ...request, app: found.id }));
      return earlier ? { earlier } : { material: await gather(tx, found, order) };
    });
    if (read.earlier !== undefined) return answerOf(read.earlier, request as Request);

    const { notifications, reached, repeated } = await budget.within(signal, (watch) =>
      this.#composeAndStore(asked, request, read.material, watch, write),
    );
    if (reached.length > 0) arrived(reached);
    if (!repeated && notifications.some(({ status }) => status === 'queued')) ring();
    return notifications;
  }

  /** The words are held until they are stored. */
  async #composeAndStore(
    { app, order, unknown, signal }: Asked,
    request: Request | null,
    material: Material,
    watch: RenderWatch,
    write: Write,
  ): Promise<Stored> {
    const { renderer, unsubscriptions, turns, allowHttp } = this.#options;
    const messages = await compose(material, order, renderer, watch);
    const stored = () => {
      // Once its transaction has begun, a send is finished: a caller that asks again with the key gets its answer.
      signal?.throwIfAborted();
      return write(async (tx) => {
        const about = { app, order, request, material, messages, unsubscriptions, allowHttp, unknown };
        const result = await store(tx, about);
        return { result, scopes: [] };
      });
    };
    return order.recipients.length >= LARGE ? await turns.take(stored) : await stored();
  }
}

interface Asked extends SendOptions {
  readonly app: string;
  readonly order: SendOrder;
  readonly by: RequestName['by'];
  /** What an application that does not exist is refused with. */
  readonly unknown: () => UsherError;
}

/** Runs the storing of a send in a transaction of its caller's making. */
type Write = (store: (tx: Tx) => Promise<Outcome<Stored>>) => Promise<Stored>;

interface ToStore {
  readonly app: string;
  readonly order: SendOrder;
  readonly request: Request | null;
  readonly material: Material;
  readonly messages: readonly Message[];
  readonly unsubscriptions: SendsOptions['unsubscriptions'];
  readonly allowHttp: boolean;
  readonly unknown: () => UsherError;
}

/** All of a send, or the answer of an earlier one with its key. */
async function store(tx: Tx, toStore: ToStore): Promise<Stored> {
  const { app, order, request, material, messages, unknown } = toStore;
  if ((await holdApplication(tx, app)) !== material.app.id) throw unknown();
  const scope = { app: material.app.id, type: material.type.id };
  const named = request && { app: scope.app, by: request.by, key: request.key };
  if (request !== null && named !== null && !(await claimSendRequest(tx, named, request.bodyHash))) {
    const earlier = await findSendRequest(tx, named);
    if (earlier === undefined) throw new Error('a claimed send is gone');
    return { notifications: answerOf(earlier, request), reached: [], repeated: true };
  }
  // Its switches may have changed while the templates were rendered.
  const type = await holdType(tx, scope.app, scope.type);
  if (type === undefined) throw unknownReference('type', `type names no notification type of ${app}`);

  const recipients = await holdRecipients(tx, scope, order.recipients);
  const planned = await mapInSlices(messages, (message) =>
    decide(type, message, recipients.get(message.email) as RecipientRow, toStore),
  );
  const inserting = insertNotifications(
    tx,
    { ...scope, payload: order.payload, icon: order.icon },
    planned.map(({ notification }) => notification),
  );
  // The first are written meanwhile: all of this is under the locks of every recipient.
  const deliveries = written(planned, type, toStore);
  const [ids] = await Promise.all([inserting, enqueue(tx, deliveries, inserting)]);

  const notifications = planned.map(({ message, notification }) => ({
    id: ids.get(notification.personId) as number,
    email: message.email,
    status: notification.status,
    statusReason: notification.statusReason,
  }));
  if (named !== null) await keepAnswer(tx, named, notifications);
  const reached = notifications.filter(({ status }) => status !== 'suppressed').map(({ email }) => email);
  return { notifications, reached, repeated: false };
}

interface Planned {
  readonly message: Message;
  readonly notification: NewNotification;
  /** By which it leaves. */
  readonly channels: readonly ChannelName[];
}

function decide(type: TypeRow, message: Message, recipient: RecipientRow, { order, allowHttp }: ToStore): Planned {
  const decided = channelsFor(type, recipient);
  const notification = { personId: recipient.id, subject: message.wording.subject, locale: message.locale };
  if (decided.suppressed !== null) {
    // It is in no inbox.
    const suppressed = { status: 'suppressed', statusReason: decided.suppressed, body: null, url: null } as const;
    return { message, notification: { ...notification, ...suppressed }, channels: [] };
  }
  const channels = CHANNEL_NAMES.filter((name) => decided[name]);
  const status = channels.length > 0 ? 'queued' : 'sent';
  const words = inboxWordsOf(message, order, allowHttp);
  return { message, notification: { ...notification, ...words, status, statusReason: null }, channels };
}

/** The deliveries of each; begins when what was asked of the database before is on its way. */
async function* written(
  planned: readonly Planned[],
  type: TypeRow,
  { order, unsubscriptions, allowHttp }: ToStore,
): AsyncGenerator<WrittenDelivery> {
  await turn();
  const pieces = new TimeSlicer();
  for (const { message, notification, channels } of planned) {
    await pieces.next();
    if (channels.length === 0) continue;
    const { personId } = notification;
    const { email: to, brandId, locale } = message;
    // Only what a user may switch off carries a link that does.
    const unsubscribe = type.userCanDisable ? unsubscriptions.target(personId, type.id) : null;
    const words = wordsOf(message, order, allowHttp);
    const said = { ...words, to, locale, icon: order.icon, fromName: type.emailFromName, unsubscribe };
    for (const channel of channels) {
      yield writeDelivery(personId, { channel, brandId, content: CHANNELS[channel].contentOf(said) });
    }
  }
}

/** IDEMPOTENCY_KEY_REUSED when the earlier send was another. */
function answerOf(earlier: SendRequestRow, { bodyHash }: Request): SentNotification[] {
  if (earlier.bodyHash !== bodyHash) {
    throw new UsherError('IDEMPOTENCY_KEY_REUSED', 'Another send had this idempotencyKey within 24 hours.');
  }
  return earlier.answer as SentNotification[];
}

/** Equal for what asks for the same, whatever the order of its members. */
function hashOf(order: SendOrder): string {
  return hash('sha256', JSON.stringify(order, sorted), 'base64url');
}

function sorted(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
