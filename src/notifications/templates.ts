/** The templates of notification types, by key and language (docs/reference/notifications.md#templates). */

import {
  administer,
  applicationOf,
  type By,
  editorOf,
  knownApplication,
  refuseAuthType,
} from '../administration/administer.ts';
import { isSame, merged, refuseImmutable, type Sent, unknownApplication } from '../administration/records.ts';
import { OPTIONAL_PARTS, recordOf } from '../base/channels.ts';
import { UsherError, validationFailed } from '../base/errors.ts';
import { SYSTEM_LANGUAGE } from '../base/grammar.ts';
import { unknownBrand, unknownLanguages } from '../base/unregistered.ts';
import { type ApplicationRecord, readApplication } from '../persistence/catalog/applications.ts';
import { holdLanguage, languageCodes } from '../persistence/catalog/languages.ts';
import { findType, listTypes, lockType } from '../persistence/catalog/notification-types.ts';
import {
  deleteTemplate,
  findTemplate,
  insertTemplate,
  listTemplates,
  lockTemplate,
  type TemplateFields,
  type TemplateRow,
  updateTemplate,
} from '../persistence/catalog/templates.ts';
import type { Committed, Database, Tx } from '../persistence/database.ts';
import { type BrandLook, brandBySlug, brandSlugs, brandsFor } from '../persistence/notifications/brands.ts';
import { findReader } from '../persistence/notifications/readers.ts';
import type { RenderBudget } from './budget.ts';
import type { Rendered, Renderer, TemplateSource } from './render.ts';
import { GENERIC_TYPE } from './types.ts';
import { isTarget, targetRule } from './urls.ts';
import { variablesOf } from './variables.ts';

export type { TemplateFields, TemplateRow } from '../persistence/catalog/templates.ts';

/** A new template as a route passes it. Optional fields have defaults. */
export type NewTemplate = Pick<TemplateFields, 'locale' | 'subject' | 'html'> &
  // The type by id, by code or by both.
  Sent<TemplateFields & { type: string; key: string }>;

/** What a preview fills a template with. `brand` is a slug; the default is the brand of the caller. */
export interface PreviewRequest {
  readonly payload?: Record<string, unknown> | undefined;
  /** The variable `locale`; the default is the language of the template. */
  readonly locale?: string | undefined;
  readonly brand?: string | undefined;
}

/** The parts of a template, and what names it in an error. */
type NamedSource = TemplateSource & { type: string; key: string; locale: string };

/** A template that is not stored. */
export type Draft = Pick<TemplateFields, 'subject' | 'html'> & Sent<NamedSource & { notificationTypeId: number }>;

export interface TemplatesOptions {
  readonly database: Database;
  readonly renderer: Renderer;
  readonly budget: RenderBudget;
  /** Whether stored URLs may use http; only outside production. */
  readonly allowHttp: boolean;
}

/** One fault of a template; a syntax error has its position in the part. */
export interface TemplateIssue {
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

export class Templates {
  readonly #database: Database;
  readonly #renderer: Renderer;
  readonly #budget: RenderBudget;
  readonly #allowHttp: boolean;

  constructor({ database, renderer, budget, allowHttp }: TemplatesOptions) {
    this.#database = database;
    this.#renderer = renderer;
    this.#budget = budget;
    this.#allowHttp = allowHttp;
  }

  /** All templates, by type, key and language; NOT_FOUND for an unknown application. */
  list(app: string): Promise<TemplateRow[]> {
    return this.#database.read(async (tx) => await listTemplates(tx, await knownApplication(tx, app)));
  }

  /**
   * VALIDATION_FAILED with line and column when a part does not parse, UNKNOWN_LANGUAGES for a language that is not registered,
   * UNKNOWN_REFERENCE for a type that is not the application's, ALREADY_EXISTS when type, key and language are taken.
   */
  async create(app: string, { key = 'default', ...sent }: NewTemplate, by: By): Promise<Committed<TemplateRow>> {
    const parts = {
      locale: sent.locale,
      subject: sent.subject,
      html: sent.html,
      ...recordOf(OPTIONAL_PARTS, (part) => sent[part] ?? null),
      requiredVariables: sent.requiredVariables ?? [],
    };
    await this.#refuseUnfit(parts, app);
    const about = { app, action: 'template.created', guard: editorOf(app) };
    return await administer<TemplateRow>(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationOf(tx, app);
      const fields: TemplateFields = { ...parts, notificationTypeId: await typeIdOf(tx, appId, sent) };
      const type = await refuseUnknown(tx, appId, fields);
      const refused = await refuseAuthType(tx, type, by.caller.email);
      if (refused !== null) return { result: refused, scopes: [] };
      const id = await insertTemplate(tx, appId, { key, ...fields });
      const made = id === undefined ? undefined : await findTemplate(tx, appId, id);
      if (made === undefined) throw taken(key, fields.locale);
      audit({ subject: nameOf(made), after: auditOf(made) });
      return { result: made, scopes: [] };
    });
  }

  /** Changes the given fields; the type by id, by code or by both. IMMUTABLE_FIELD for a changed key; further as `create`. */
  async change(
    app: string,
    id: number,
    { key, type: code, ...sent }: Sent<TemplateFields & { type: string; key: string }>,
    by: By,
  ): Promise<Committed<TemplateRow>> {
    // Parts are parsed one by one, so only the given ones need a check.
    await this.#refuseUnfit(sent, app);
    const about = { app, action: 'template.changed', guard: editorOf(app) };
    return await administer<TemplateRow>(this.#database, by, about, async ({ tx, audit }) => {
      const appId = await applicationOf(tx, app);
      const before = await locked(tx, appId, id);
      refuseImmutable('key', before.key, key);
      const notificationTypeId = await typeAfter(tx, appId, before, { ...sent, type: code });
      const { id: _id, type: _type, createdAt: _created, updatedAt: _updated, ...present } = before;
      const fields = merged(present, { ...sent, notificationTypeId });
      const type = await refuseUnknown(tx, appId, fields);
      for (const one of [before.type, type]) {
        const refused = await refuseAuthType(tx, one, by.caller.email);
        if (refused !== null) return { result: refused, scopes: [] };
      }
      if (isSame(fields, present)) return { result: before, scopes: [] };
      if (!(await updateTemplate(tx, id, fields))) throw taken(before.key, fields.locale);
      const after = await findTemplate(tx, appId, id);
      if (after === undefined) throw new Error('a locked template is gone');
      audit({ subject: nameOf(before), before: auditOf(before), after: auditOf(after) });
      return { result: after, scopes: [] };
    });
  }

  delete(app: string, id: number, by: By): Promise<Committed<null>> {
    const about = { app, action: 'template.deleted', guard: editorOf(app) };
    return administer<null>(this.#database, by, about, async ({ tx, audit }) => {
      const template = await locked(tx, await applicationOf(tx, app), id);
      const refused = await refuseAuthType(tx, template.type, by.caller.email);
      if (refused !== null) return { result: refused, scopes: [] };
      await deleteTemplate(tx, id);
      audit({ subject: nameOf(template), before: auditOf(template) });
      return { result: null, scopes: [] };
    });
  }

  /**
   * Renders the template for the caller with the payload, even if required variables are missing. UNKNOWN_REFERENCE for an unknown
   * brand, UNPROCESSABLE when it cannot be rendered. `signal` cancels it.
   */
  async preview(
    app: string,
    id: number,
    request: PreviewRequest,
    email: string,
    signal?: AbortSignal,
  ): Promise<Rendered> {
    const found = await this.#database.read(async (tx) => {
      const application = await existing(tx, app);
      const template = await findTemplate(tx, application.id, id);
      if (template === undefined) throw unknownTemplate();
      return { application, template, ...(await readerIn(tx, email, request.brand)) };
    });
    return await this.#render(found, request, email, signal);
  }

  /**
   * The same for a template that is not stored. VALIDATION_FAILED with line and column when a part does not parse, UNKNOWN_REFERENCE
   * and UNKNOWN_LANGUAGES as `create`.
   */
  async previewDraft(
    app: string,
    { type, notificationTypeId, key = 'default', locale = SYSTEM_LANGUAGE, ...sent }: Draft,
    request: PreviewRequest,
    email: string,
    signal?: AbortSignal,
  ): Promise<Rendered> {
    const parts = recordOf(OPTIONAL_PARTS, (part) => sent[part] ?? null);
    const template = { type: type ?? GENERIC_TYPE, key, locale, subject: sent.subject, html: sent.html, ...parts };
    await this.#refuseUnfit(template, app);
    const found = await this.#database.read(async (tx) => {
      const application = await existing(tx, app);
      await refuseUnknownNames(tx, application.id, { type, notificationTypeId, locale });
      return { application, ...(await readerIn(tx, email, request.brand)) };
    });
    return await this.#render({ ...found, template }, request, email, signal);
  }

  async #render(
    {
      application,
      template,
      reader,
      brand,
    }: Awaited<ReturnType<typeof readerIn>> & {
      application: { code: string; name: string };
      template: NamedSource;
    },
    { payload = {}, locale = template.locale }: PreviewRequest,
    email: string,
    signal: AbortSignal | undefined,
  ): Promise<Rendered> {
    const user = reader ?? { email, firstName: null, lastName: null, displayName: null, locale: null, timezone: null };
    const job = {
      template: sourceOf(template),
      payload,
      variables: variablesOf({ user, app: application, brand, locale }),
    };
    const lane = laneOf(application.code);
    const [outcome] = await this.#budget.within(signal, (watch) => this.#renderer.render([job], lane, watch));
    if (outcome?.ok) return outcome.rendered;
    throw unrenderable(template, outcome?.problem ?? 'it was not rendered');
  }

  /** The faults of the given parts: syntax errors and URLs that may not be stored. `app` is the application of the template. */
  async faultsOf(sent: Sent<TemplateSource>, app: string): Promise<readonly TemplateIssue[]> {
    // A URL with Liquid in it is checked after rendering.
    const isUnfit = sent.url && !/\{[{%]/.test(sent.url) && !isTarget(sent.url, this.#allowHttp);
    const unfit = isUnfit ? [{ path: 'url', message: targetRule(this.#allowHttp) }] : [];
    const { subject = '', html = '' } = sent;
    const source = { subject, html, ...recordOf(OPTIONAL_PARTS, (part) => sent[part] ?? null) };
    const faults = await this.#renderer.check(source, laneOf(app));
    const unparsed = faults.map(({ field, line, column, message }) => ({
      path: field,
      message: `does not parse: line ${line}, column ${column}: ${message}`,
      line,
      column,
    }));
    return [...unparsed, ...unfit];
  }

  async #refuseUnfit(sent: Sent<TemplateFields>, app: string): Promise<void> {
    const issues = await this.faultsOf(sent, app);
    if (issues.length > 0) throw validationFailed(issues);
  }
}

/** The renderer's lane for an application's checks and previews. Its sends have another one. */
function laneOf(app: string): string {
  return `templates of ${app}`;
}

/** The Liquid parts of a template. */
export function sourceOf(template: TemplateSource): TemplateSource {
  const { subject, html } = template;
  return { subject, html, ...recordOf(OPTIONAL_PARTS, (part) => template[part]) };
}

/** 422: nothing was sent. */
export function unrenderable(template: { type: string; key: string; locale: string }, problem: string): UsherError {
  const { type, key, locale } = template;
  return new UsherError('UNPROCESSABLE', `The template ${type}/${key} in ${locale} cannot be rendered: ${problem}.`);
}

async function existing(tx: Tx, app: string): Promise<ApplicationRecord> {
  const application = await readApplication(tx, app);
  if (application === undefined) throw unknownApplication(app);
  return application;
}

/** The reader of a preview, and the brand that it is rendered for. */
async function readerIn(tx: Tx, email: string, brand: string | undefined) {
  const reader = await findReader(tx, email);
  return { reader, brand: await brandOf(tx, brand, reader?.brandId) };
}

async function brandOf(
  tx: Tx,
  slug: string | undefined,
  own: number | null | undefined,
): Promise<BrandLook | undefined> {
  if (slug !== undefined) {
    const named = await brandBySlug(tx, slug);
    if (named !== undefined) return named;
    throw unknownBrand(slug, await brandSlugs(tx));
  }
  const brands = await brandsFor(tx, own === null || own === undefined ? [] : [own]);
  return brands.find(({ id }) => id === own) ?? brands.find(({ isDefault }) => isDefault);
}

/** The id of the type that a new template names, by id or by code. */
async function typeIdOf(
  tx: Tx,
  app: number,
  { notificationTypeId, type: code }: Sent<{ notificationTypeId: number; type: string }>,
): Promise<number> {
  const named = code === undefined ? undefined : await findType(tx, app, code);
  const id = notificationTypeId ?? named?.id;
  if (id !== undefined && (code === undefined || named?.id === id)) return id;
  throw new UsherError(
    'UNKNOWN_REFERENCE',
    `type: ${code} is not the type in notificationTypeId, or not a notification type of the application.`,
    {
      details: { path: 'type' },
    },
  );
}

/**
 * The id of the type of a changed template. The code of the present type is ignored: a client that reads a template, changes the id
 * and sends the rest back includes it.
 */
async function typeAfter(
  tx: Tx,
  app: number,
  present: TemplateRow,
  {
    notificationTypeId: id = present.notificationTypeId,
    type: code,
  }: Sent<{ notificationTypeId: number; type: string }>,
): Promise<number> {
  if (code === undefined || code === present.type) return id;
  const moved = id !== present.notificationTypeId;
  return await typeIdOf(tx, app, { type: code, notificationTypeId: moved ? id : undefined });
}

/** The names of a draft, without a lock: nothing is written. */
async function refuseUnknownNames(
  tx: Tx,
  app: number,
  { type, notificationTypeId: id, locale }: Sent<{ type: string; notificationTypeId: number }> & { locale: string },
): Promise<void> {
  if (type !== undefined) await typeIdOf(tx, app, { type, notificationTypeId: id });
  else if (id !== undefined && !(await listTypes(tx, app)).some((one) => one.id === id)) throw unknownType();
  const languages = await languageCodes(tx);
  if (!languages.includes(locale)) throw unknownLanguages([locale], languages, 'locale');
}

function unknownType(): UsherError {
  return new UsherError('UNKNOWN_REFERENCE', 'notificationTypeId: unknown notification type of the application.', {
    details: { path: 'notificationTypeId' },
  });
}

/** Returns the type's code. Locks the type: until the commit it is not deleted, and no other template takes its key. */
async function refuseUnknown(tx: Tx, app: number, { notificationTypeId, locale }: TemplateFields): Promise<string> {
  const type = await lockType(tx, app, notificationTypeId);
  if (type === undefined) throw unknownType();
  if (await holdLanguage(tx, locale)) return type.code;
  throw unknownLanguages([locale], await languageCodes(tx), 'locale');
}

/** The template as audit records hold it: long parts are cut. */
function auditOf(template: TemplateRow): Record<string, unknown> {
  const { type, key, locale, requiredVariables } = template;
  const parts = Object.entries(sourceOf(template)).map(([name, part]: [string, string | null]) => [
    name,
    part !== null && part.length > 2000 ? `${part.slice(0, 2000).toWellFormed()}… (${part.length} characters)` : part,
  ]);
  return { type, key, locale, ...Object.fromEntries(parts), requiredVariables };
}

/** The template as audit records name it. */
export function nameOf({ type, key, locale }: TemplateRow): string {
  return `${type}/${key}/${locale}`;
}

async function locked(tx: Tx, app: number, id: number): Promise<TemplateRow> {
  const template = await lockTemplate(tx, app, id);
  if (template === undefined) throw unknownTemplate();
  return template;
}

export function unknownTemplate(): UsherError {
  return new UsherError('NOT_FOUND', 'Unknown template of the application.');
}

function taken(key: string, locale: string): UsherError {
  return new UsherError('ALREADY_EXISTS', `This type already has a template ${key} in ${locale}.`);
}
