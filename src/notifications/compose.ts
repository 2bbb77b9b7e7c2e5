/** What a send says to each of its recipients: variants chosen, variables given, templates rendered. Before any write. */

import { AUTH_TYPE } from '../administration/panel.ts';
import { OPTIONAL_PARTS, recordOf } from '../base/channels.ts';
import { UsherError } from '../base/errors.ts';
import { SYSTEM_LANGUAGE } from '../base/grammar.ts';
import { mapInSlices } from '../base/time-slice.ts';
import { excerptOf } from '../delivery/channels.ts';
import type { ApplicationRecord } from '../persistence/catalog/applications.ts';
import { fallbacks } from '../persistence/catalog/languages.ts';
import { findType, type TypeRow } from '../persistence/catalog/notification-types.ts';
import { findVariants, type TemplateRow } from '../persistence/catalog/templates.ts';
import type { Tx } from '../persistence/database.ts';
import { type BrandLook, brandsFor } from '../persistence/notifications/brands.ts';
import { findReaders, type ReaderRow } from '../persistence/notifications/readers.ts';
import { MAX_SEND_BYTES, tooLarge } from './budget.ts';
import { asRendered, type Personal, renderEach, type Wording } from './merge.ts';
import { plainMail } from './plain.ts';
import type { Rendered, Renderer, RenderJob, RenderWatch, TemplateSource } from './render.ts';
import { sourceOf, unrenderable } from './templates.ts';
import { isTarget } from './urls.ts';
import { missingVariables, readerOf, surroundingsOf } from './variables.ts';
import { chooseVariant } from './variant.ts';

/** A send as its caller asked for it, checked and with its defaults. */
export interface SendOrder {
  /** A notification type's code. */
  readonly type: string;
  /** In normal form, each once. */
  readonly recipients: readonly string[];
  readonly payload: Readonly<Record<string, unknown>>;
  readonly subject: string | null;
  readonly body: string | null;
  readonly url: string | null;
  readonly icon: string | null;
  /** For all recipients; null for each one's own. */
  readonly locale: string | null;
  /** Null: `default`, where there is such a template. */
  readonly templateKey: string | null;
}

/** All that the words of a send depend on, read at one moment. */
export interface Material {
  readonly app: Pick<ApplicationRecord, 'id' | 'code' | 'name'>;
  readonly type: TypeRow;
  readonly variants: readonly TemplateRow[];
  readonly fallbacks: ReadonlyMap<string, string>;
  readonly readers: ReadonlyMap<string, ReaderRow>;
  readonly brands: readonly BrandLook[];
}

/** The words for one recipient. */
export interface Message {
  readonly email: string;
  /** The recipient's own brand; null for the default one. */
  readonly brandId: number | null;
  readonly locale: string;
  readonly wording: Wording;
}

/**
 * UNKNOWN_REFERENCE for a type or a template key that the application does not have, and for `auth_idp` in every application: those
 * mails are the identity provider's alone. A sender with a key could otherwise put any link into a genuine password mail.
 */
export async function gather(tx: Tx, app: Material['app'], order: SendOrder): Promise<Material> {
  const type = order.type === AUTH_TYPE ? undefined : await findType(tx, app.id, order.type);
  if (type === undefined) throw unknownReference('type', `type names no notification type of ${app.code}`);
  const variants = await findVariants(tx, app.id, type.id, order.templateKey ?? 'default');
  if (order.templateKey !== null && variants.length === 0) {
    throw unknownReference('templateKey', `templateKey names no template of the type ${type.code}`);
  }
  const readers = await findReaders(tx, order.recipients);
  const own = [...readers.values()].flatMap(({ brandId }) => (brandId === null ? [] : [brandId]));
  return {
    app,
    type,
    variants,
    fallbacks: await fallbacks(tx),
    readers,
    brands: await brandsFor(tx, [...new Set(own)]),
  };
}

export function unknownReference(path: string, message: string): UsherError {
  return new UsherError('UNKNOWN_REFERENCE', `${message}.`, { details: { path } });
}

/**
 * The message for each recipient, in their order. MISSING_VARIABLES when the payload lacks what a variant requires, UNPROCESSABLE
 * when a template cannot be rendered, PAYLOAD_TOO_LARGE when it comes to more than one send may store.
 */
export async function compose(
  material: Material,
  order: SendOrder,
  renderer: Pick<Renderer, 'shown' | 'render'>,
  watch: RenderWatch = {},
): Promise<Message[]> {
  refuseMissing(material.variants, order.payload);
  const total = new Total(order);
  if (material.variants.length === 0) return await plainMessages(material, order, total);
  const jobFor = sharedJobs(material, order);
  const planned = await mapInSlices(order.recipients, (email) => plan(material, order, email, jobFor));
  const outcomes = await renderEach(renderer, planned, `sends of ${material.app.code}`, watch);
  return await mapInSlices(planned, ({ email, brandId, variant }, index) => {
    const wording = outcomes[index];
    if (!wording?.ok) throw unrenderable(variant, wording?.problem ?? 'it was not rendered');
    total.add(wording.bytes);
    return { email, brandId, locale: variant.locale, wording };
  });
}

/** The message's words, put together anew: to be asked for where they are written (see `Wording`). */
export function wordsOf({ wording }: Message, order: SendOrder, allowHttp: boolean): Rendered {
  const words = wording.rendered();
  return { ...words, url: targetOf(words.url, order, allowHttp) };
}

/** What the inbox says beside the subject: what a push says. Null where there is nothing to be said. */
export function inboxWordsOf(
  { wording }: Message,
  order: SendOrder,
  allowHttp: boolean,
): { body: string | null; url: string | null } {
  const { body, url } = wording.excerpt();
  return { body: excerptOf(body) || null, url: targetOf(url, order, allowHttp) };
}

/** What a value made of a template's URL must not lead anywhere else: javascript:, credentials. */
function targetOf(url: string | null, order: SendOrder, allowHttp: boolean): string | null {
  return url !== null && url !== '' && isTarget(url, allowHttp) ? url : order.url;
}

function refuseMissing(variants: readonly TemplateRow[], payload: SendOrder['payload']): void {
  const required = variants.flatMap(({ requiredVariables }) => requiredVariables);
  const variables = missingVariables(required, payload);
  if (variables.length === 0) return;
  throw new UsherError('MISSING_VARIABLES', `The payload lacks ${variables.join(', ')}.`, { details: { variables } });
}

/** The bytes that are stored for a send. PAYLOAD_TOO_LARGE as soon as they are too many: before they are put together. */
class Total {
  #bytes: number;

  /** What is stored with each notification whatever its words are. */
  constructor({ payload, recipients }: SendOrder) {
    this.#bytes = 0;
    this.add(Buffer.byteLength(JSON.stringify(payload)) * recipients.length);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MAX_SEND_BYTES) throw tooLarge();
  }
}

interface Planned extends Personal {
  readonly email: string;
  readonly brandId: number | null;
  readonly variant: TemplateRow;
}

function plan(material: Material, order: SendOrder, email: string, jobFor: JobFor): Planned {
  const { variants, readers, brands } = material;
  const reader = readers.get(email);
  const wanted = order.locale ?? reader?.locale ?? SYSTEM_LANGUAGE;
  const variant = chooseVariant(variants, wanted, material.fallbacks) as TemplateRow;
  const brandId = reader?.brandId ?? null;
  const brand = brands.find(({ id }) => id === brandId) ?? brands.find(({ isDefault }) => isDefault);
  const user = reader ?? { email, firstName: null, lastName: null, displayName: null, locale: null };
  return { email, brandId, variant, shared: jobFor(variant, brand), user: readerOf(user, variant.locale) };
}

type JobFor = (variant: TemplateRow, brand: BrandLook | undefined) => RenderJob;

/** What is rendered, but for its reader: one object for each variant and brand, and one template for a variant. */
function sharedJobs({ app, variants }: Material, { payload }: SendOrder): JobFor {
  const templates = new Map(variants.map((variant) => [variant.id, sourceOf(variant)]));
  const jobs = new Map<string, RenderJob>();
  return (variant, brand) => {
    const key = `${variant.id} ${brand?.id}`;
    const known = jobs.get(key);
    if (known !== undefined) return known;
    const template = templates.get(variant.id) as TemplateSource;
    const job = { template, payload, variables: surroundingsOf({ app, brand, locale: variant.locale }) };
    jobs.set(key, job);
    return job;
  };
}

/**
 * Without a template: the subject and the text that were sent, as they are. A mail shows both, and a link where there is one: without
 * a text the subject stands in for it, so that no mail is empty.
 */
async function plainMessages({ type, readers }: Material, order: SendOrder, total: Total): Promise<Message[]> {
  const subject = oneLine(order.subject ?? type.name);
  const body = order.body ?? '';
  const wording = asRendered({
    ...recordOf(OPTIONAL_PARTS, () => null),
    subject,
    ...plainMail({ subject, body, url: order.url }),
    pushBody: excerptOf(body),
  });
  total.add(wording.bytes * order.recipients.length);
  return await mapInSlices(order.recipients, (email) => {
    const reader = readers.get(email);
    const locale = order.locale ?? reader?.locale ?? SYSTEM_LANGUAGE;
    return { email, brandId: reader?.brandId ?? null, locale, wording };
  });
}

/** Nothing in it ends a header's line. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}
