/** Composes the messages of a send before any write: chooses variants, supplies variables, renders templates. */

import { AUTH_TYPE } from '../administration/panel.ts';
import { certain } from '../base/certain.ts';
import { OPTIONAL_PARTS, recordOf } from '../base/channels.ts';
import { UsherError } from '../base/errors.ts';
import { SYSTEM_LANGUAGE } from '../base/grammar.ts';
import { nearest, orMeant } from '../base/nearest.ts';
import { mapInSlices } from '../base/time-slice.ts';
import { excerptOf } from '../delivery/channels.ts';
import type { ApplicationRecord } from '../persistence/catalog/applications.ts';
import { fallbacks } from '../persistence/catalog/languages.ts';
import { findType, listTypes, type TypeRow } from '../persistence/catalog/notification-types.ts';
import { findVariants, listTemplates, type TemplateRow } from '../persistence/catalog/templates.ts';
import type { Tx } from '../persistence/database.ts';
import { type BrandLook, brandsFor } from '../persistence/notifications/brands.ts';
import { findReaders, type ReaderRow } from '../persistence/notifications/readers.ts';
import { MAX_SEND_BYTES, tooLarge } from './budget.ts';
import { asRendered, type Personal, renderEach, type Wording } from './merge.ts';
import { plainMail } from './plain.ts';
import type { Rendered, Renderer, RenderJob, RenderWatch } from './render.ts';
import { sourceOf, unrenderable } from './templates.ts';
import { isTarget } from './urls.ts';
import { missingVariables, readerOf, surroundingsOf } from './variables.ts';
import { chooseVariant } from './variant.ts';

/** A validated send request with its defaults. */
export interface SendOrder {
  /** A notification type's code. */
  readonly type: string;
  /** In normal form, without duplicates. */
  readonly recipients: readonly string[];
  readonly payload: Readonly<Record<string, unknown>>;
  readonly subject: string | null;
  readonly body: string | null;
  readonly url: string | null;
  readonly icon: string | null;
  /** For all recipients; null for the language of each. */
  readonly locale: string | null;
  /** Null for `default`, if such a template exists. */
  readonly templateKey: string | null;
  /** Of the service's own words: the language of subject and body. Without a `templateKey` no template is looked for then. */
  readonly wordsIn?: string;
}

/** All stored data that the messages of a send depend on, read in one transaction. */
export interface Material {
  readonly app: Pick<ApplicationRecord, 'id' | 'code' | 'name'>;
  readonly type: TypeRow;
  readonly variants: readonly TemplateRow[];
  readonly fallbacks: ReadonlyMap<string, string>;
  readonly readers: ReadonlyMap<string, ReaderRow>;
  readonly brands: readonly BrandLook[];
}

/** The message for one recipient. */
export interface Message {
  readonly email: string;
  /** The recipient's own brand; null for the default one. */
  readonly brandId: number | null;
  readonly locale: string;
  readonly wording: Wording;
}

/**
 * UNKNOWN_REFERENCE for a type or a template key that the application does not have, and for `auth_idp` in every application: only the
 * identity provider sends those mails. Otherwise the holder of a key could put any link into a genuine password mail.
 */
export async function gather(tx: Tx, app: Material['app'], order: SendOrder): Promise<Material> {
  const type = order.type === AUTH_TYPE ? undefined : await findType(tx, app.id, order.type);
  if (type === undefined) {
    const types = await listTypes(tx, app.id);
    const codes = types.map(({ code }) => code).filter((code) => code !== AUTH_TYPE);
    const known = nearest(order.type, codes);
    throw new UsherError(
      'UNKNOWN_REFERENCE',
      `type: ${app.code} has no notification type ${order.type}${orMeant(known)}`,
      {
        details: { path: 'type', ...(known === null ? {} : { known }) },
      },
    );
  }
  const isPlain = order.templateKey === null && order.wordsIn !== undefined;
  const variants = isPlain ? [] : await findVariants(tx, app.id, type.id, order.templateKey ?? 'default');
  if (order.templateKey !== null && variants.length === 0) {
    const keys = (await listTemplates(tx, app.id)).flatMap((one) => (one.type === type.code ? [one.key] : []));
    const known = nearest(order.templateKey, keys);
    const message = `templateKey: the type ${type.code} has no template ${order.templateKey}${orMeant(known)}`;
    throw new UsherError('UNKNOWN_REFERENCE', message, {
      details: { path: 'templateKey', ...(known === null ? {} : { known }) },
    });
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
 * The message for each recipient, in order. MISSING_VARIABLES when the payload lacks a required variable of a variant, UNPROCESSABLE
 * when a template cannot be rendered, PAYLOAD_TOO_LARGE when the result exceeds what one send may store.
 */
export async function compose(
  material: Material,
  order: SendOrder,
  renderer: Pick<Renderer, 'printedMembers' | 'render'>,
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

/** Builds the complete text of the message. To be called where it is written (see `Wording`). */
export function renderedOf({ wording }: Message, order: SendOrder, allowHttp: boolean): Rendered {
  const rendered = wording.rendered();
  return { ...rendered, url: targetOf(rendered.url, order, allowHttp) };
}

/** The inbox item beside its subject: the same text as a push. Null for an empty text. */
export function inboxContentOf(
  { wording }: Message,
  order: SendOrder,
  allowHttp: boolean,
): { body: string | null; url: string | null } {
  const { body, url } = wording.excerpt();
  return { body: excerptOf(body) || null, url: targetOf(url, order, allowHttp) };
}

/** The rendered URL, or that of the send if values made it unsafe, for example `javascript:` or with credentials. */
function targetOf(url: string | null, order: SendOrder, allowHttp: boolean): string | null {
  return url !== null && url !== '' && isTarget(url, allowHttp) ? url : order.url;
}

function refuseMissing(variants: readonly TemplateRow[], payload: SendOrder['payload']): void {
  const required = variants.flatMap(({ requiredVariables }) => requiredVariables);
  const variables = missingVariables(required, payload);
  if (variables.length === 0) return;
  throw new UsherError('MISSING_VARIABLES', `The payload lacks ${variables.join(', ')}.`, { details: { variables } });
}

/** Counts the bytes stored for a send. PAYLOAD_TOO_LARGE above the limit, before the texts are built. */
class Total {
  #bytes: number;

  /** Starts with the payload, which is stored with each notification. */
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
  const user = reader ?? { email, firstName: null, lastName: null, displayName: null, locale: null, timezone: null };
  return { email, brandId, variant, shared: jobFor(variant, brand), user: readerOf(user, variant.locale) };
}

type JobFor = (variant: TemplateRow, brand: BrandLook | undefined) => RenderJob;

/** The jobs without `user`: one object for each variant and brand, one template object for each variant. */
function sharedJobs({ app, variants }: Material, { payload }: SendOrder): JobFor {
  const templates = new Map(variants.map((variant) => [variant.id, sourceOf(variant)]));
  const jobs = new Map<string, RenderJob>();
  return (variant, brand) => {
    const key = `${variant.id} ${brand?.id}`;
    const known = jobs.get(key);
    if (known !== undefined) return known;
    const template = certain(templates.get(variant.id));
    const job = { template, payload, variables: surroundingsOf({ app, brand, locale: variant.locale }) };
    jobs.set(key, job);
    return job;
  };
}

/**
 * Messages without a template: subject and text of the send, unchanged. A mail contains both and the link. Without a text the subject
 * replaces it, so that no mail is empty.
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
    const locale = order.wordsIn ?? order.locale ?? reader?.locale ?? SYSTEM_LANGUAGE;
    return { email, brandId: reader?.brandId ?? null, locale, wording };
  });
}

/** One line without control characters, fit for a header. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
}
