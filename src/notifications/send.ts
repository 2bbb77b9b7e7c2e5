/**
 * Sends: one notification for each recipient and one delivery for each channel, stored in one transaction
 * (docs/reference/notifications.md#sends). A send answered with 202 survives a crash: workers find its deliveries in the table.
 */

import { hash } from 'node:crypto';
import { administer, type By, editorOf } from '../administration/administer.ts';
import { unknownApplication } from '../administration/records.ts';
import { certain } from '../base/certain.ts';
import { CHANNEL_NAMES, type ChannelName } from '../base/channels.ts';
import { UsherError } from '../base/errors.ts';
import { mapInSlices, TimeSlicer, turn } from '../base/time-slice.ts';
import { keptTrace } from '../base/tracing.ts';
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
  inboxContentOf,
  type Material,
  type Message,
  renderedOf,
  type SendOrder,
  unknownReference,
} from './compose.ts';
import type { Renderer, RenderWatch } from './render.ts';
import type { Unsubscriptions } from './unsubscribe.ts';
import { refuseTarget } from './urls.ts';

export type { SendOrder } from './compose.ts';

/** The result for one recipient. */
export interface SentNotification {
  id: number;
  email: string;
  status: 'queued' | 'sent' | 'suppressed';
  statusReason: string | null;
}

/** Sends with at least this number of recipients are stored one after another: waits for many row locks are not served in order. */
const LARGE = 50;

export interface SendsOptions {
  readonly database: Database;
  readonly renderer: Renderer;
  readonly budget: RenderBudget;
  readonly unsubscriptions: Pick<Unsubscriptions, 'target'>;
  /** Large sends are stored in order of arrival. */
  readonly turns: Pick<WorkQueue, 'take'>;
  readonly allowHttp: boolean;
  /** Called after the commit with the addresses of changed inboxes. */
  readonly arrived: (emails: readonly string[]) => void;
  /** Wakes the worker after the commit. */
  readonly ring: () => void;
}

/** Options of a send beside the order. */
export interface SendOptions {
  readonly idempotencyKey?: string | null;
  /** Aborting it cancels a send until it is being stored. */
  readonly signal?: AbortSignal | undefined;
}

/** A send with an idempotency key. Backends and administrators have separate key spaces. */
interface Request {
  readonly by: RequestName['by'];
  readonly key: string;
  readonly bodyHash: string;
}

interface Stored {
  readonly notifications: SentNotification[];
  /** Addresses whose inbox changed. */
  readonly reached: readonly string[];
  /** Answered with the result of an earlier send. */
  readonly repeated: boolean;
}

const NOT_STORED: Stored = { notifications: [], reached: [], repeated: false };

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

  /** For app admins; NOT_FOUND for an unknown application. */
  byAdministrator(app: string, order: SendOrder, by: By, options: SendOptions = {}): Promise<SentNotification[]> {
    const about = { app, action: 'notification.sent', guard: editorOf(app) };
    const unknown = () => unknownApplication(app);
    return this.#send({ app, order, by: 'administrator', unknown, ...options }, async (store) => {
      const { result } = await administer(this.#options.database, by, about, async ({ tx, audit }) => {
        const outcome = await store(tx);
        const { notifications, repeated } = outcome.result;
        if (!repeated) {
          const after = { recipients: notifications.length, templateKey: order.templateKey };
          audit({ subject: order.type, after });
        }
        return outcome;
      });
      return result;
    });
  }

  /**
   * What the service itself tells people; nothing is sent where `claim`, in the transaction that stores it, says that it is not to be
   * told any more. Errors as `bySystem`.
   */
  byService(app: string, order: SendOrder, claim: (tx: Tx) => Promise<boolean>): Promise<SentNotification[]> {
    return this.#send({ app, order, by: 'key', unknown: () => unknownApplication(app) }, async (store) => {
      const { result } = await this.#options.database.change(
        async (tx): Promise<Outcome<Stored>> =>
          (await claim(tx)) ? await store(tx) : { result: NOT_STORED, scopes: [] },
      );
      return result;
    });
  }

  async #send(sent: SendRequest, write: Write): Promise<SentNotification[]> {
    const { database, budget, allowHttp, arrived, ring } = this.#options;
    const { app, order, by, unknown, idempotencyKey = null, signal } = sent;
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
      this.#composeAndStore(sent, request, read.material, watch, write),
    );
    if (reached.length > 0) arrived(reached);
    if (!repeated && notifications.some(({ status }) => status === 'queued')) ring();
    return notifications;
  }

  /** Runs within the budget until the texts are stored. */
  async #composeAndStore(
    { app, order, unknown, signal }: SendRequest,
    request: Request | null,
    material: Material,
    watch: RenderWatch,
    write: Write,
  ): Promise<Stored> {
    const { renderer, unsubscriptions, turns, allowHttp } = this.#options;
    const messages = await compose(material, order, renderer, watch);
    const stored = () => {
      // A send is not cancelled after its transaction has begun; a retry with the same key gets its result.
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

interface SendRequest extends SendOptions {
  readonly app: string;
  readonly order: SendOrder;
  readonly by: RequestName['by'];
  /** The error for an unknown application. */
  readonly unknown: () => UsherError;
}

/** Runs `store` in a transaction of the caller. */
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

/** Stores a send, or returns the result of an earlier one with its key. */
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
  // The type's switches may have changed during the rendering.
  const type = await holdType(tx, scope.app, scope.type);
  if (type === undefined) throw unknownReference('type', `type names no notification type of ${app}`);

  const recipients = await holdRecipients(tx, scope, order.recipients);
  const planned = await mapInSlices(messages, (message) =>
    decide(type, message, certain(recipients.get(message.email)), toStore),
  );
  const inserting = insertNotifications(
    tx,
    { ...scope, payload: order.payload, icon: order.icon },
    planned.map(({ notification }) => notification),
  );
  // Deliveries are built while the database inserts, to shorten the time under the locks of all recipients.
  const deliveries = written(planned, type, toStore);
  const [ids] = await Promise.all([inserting, enqueue(tx, deliveries, inserting)]);

  const notifications = planned.map(({ message, notification }) => ({
    id: certain(ids.get(notification.personId)),
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
  /** The channels that deliver it. */
  readonly channels: readonly ChannelName[];
}

function decide(type: TypeRow, message: Message, recipient: RecipientRow, { order, allowHttp }: ToStore): Planned {
  const decided = channelsFor(type, recipient);
  const notification = { personId: recipient.id, subject: message.wording.subject, locale: message.locale };
  if (decided.suppressed !== null) {
    // A suppressed notification is not in the inbox, so it needs no text.
    const suppressed = { status: 'suppressed', statusReason: decided.suppressed, body: null, url: null } as const;
    return { message, notification: { ...notification, ...suppressed }, channels: [] };
  }
  const channels = CHANNEL_NAMES.filter((name) => decided[name]);
  const status = channels.length > 0 ? 'queued' : 'sent';
  const content = inboxContentOf(message, order, allowHttp);
  return { message, notification: { ...notification, ...content, status, statusReason: null }, channels };
}

/** The deliveries of all recipients. Starts in the next turn, after the preceding statements have been sent to the database. */
async function* written(
  planned: readonly Planned[],
  type: TypeRow,
  { order, unsubscriptions, allowHttp }: ToStore,
): AsyncGenerator<WrittenDelivery> {
  const traceparent = keptTrace();
  await turn();
  const pieces = new TimeSlicer();
  for (const { message, notification, channels } of planned) {
    await pieces.next();
    if (channels.length === 0) continue;
    const { personId } = notification;
    const { email: to, brandId, locale } = message;
    // Only types that users can switch off have an unsubscribe link.
    const unsubscribe = type.userCanDisable ? unsubscriptions.target(personId, type.id) : null;
    const rendered = renderedOf(message, order, allowHttp);
    const content = { ...rendered, to, locale, icon: order.icon, fromName: type.emailFromName, unsubscribe };
    for (const channel of channels) {
      const stored = { ...CHANNELS[channel].contentOf(content), ...(traceparent === undefined ? {} : { traceparent }) };
      yield writeDelivery(personId, { channel, brandId, content: stored });
    }
  }
}

/** IDEMPOTENCY_KEY_REUSED when the earlier send differs. */
function answerOf(earlier: SendRequestRow, { bodyHash }: Request): SentNotification[] {
  if (earlier.bodyHash !== bodyHash) {
    throw new UsherError('IDEMPOTENCY_KEY_REUSED', 'Another send had this idempotencyKey within 24 hours.');
  }
  return earlier.answer as SentNotification[];
}

/** The same for equal orders, independent of the order of members. */
function hashOf(order: SendOrder): string {
  return hash('sha256', JSON.stringify(order, sorted), 'base64url');
}

function sorted(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
