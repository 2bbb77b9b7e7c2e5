/** The registry of applications. (docs/reference/administration.md#applications.) */

import {
  administer,
  allOf,
  applicationAlone,
  type By,
  editorOf,
  knownApplication,
  managerOfAll,
} from '../administration/administer.ts';
import type { Concern } from '../administration/concerned.ts';
import { managedResource, PANEL_APP } from '../administration/panel.ts';
import { reachIn, sightIn } from '../administration/reach.ts';
import {
  isSame,
  refuseImmutable,
  refuseStale,
  refuseSystem,
  tagOf,
  unknownApplication,
} from '../administration/records.ts';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { byCodeUnit } from '../base/order.ts';
import type { Page } from '../base/page.ts';
import { unknownLanguages } from '../base/unregistered.ts';
import {
  type ApplicationFilter,
  type ApplicationPlace,
  findApplicationIds,
  findApplicationsInOrder,
  type StoredOrder,
} from '../persistence/catalog/application-pages.ts';
import {
  type ApplicationRecord,
  deleteApplication,
  deleteOverridesOfResource,
  holdersOfResource,
  insertApplication,
  listApplications,
  readApplication,
  readApplications,
  replaceLanguages,
  updateApplication,
} from '../persistence/catalog/applications.ts';
import { holdLanguages, languageCodes } from '../persistence/catalog/languages.ts';
import { ensureGenericType, readTypeTexts } from '../persistence/catalog/notification-types.ts';
import type { Committed, Database, Scope, Tx } from '../persistence/database.ts';

import { type ApplicationCounts, Counts } from './application-counts.ts';

export type { ApplicationPlace } from '../persistence/catalog/application-pages.ts';
export type { ApplicationRecord } from '../persistence/catalog/applications.ts';

interface NewApplication {
  code: string;
  name: string;
  description?: string | null | undefined;
  supportedLanguages?: readonly string[] | undefined;
  strictCodes?: boolean | undefined;
  tellEndings?: boolean | undefined;
}

export interface CountedApplication extends ApplicationRecord {
  counts: ApplicationCounts;
}

/** By a column, or by how much an application holds: the most first. */
export type ApplicationOrder = StoredOrder | keyof ApplicationCounts;

export interface ApplicationQuery {
  readonly search: string | null;
  readonly order: ApplicationOrder;
  /** Null: all of them. */
  readonly limit: number | null;
  /** Null: from the start. */
  readonly after: ApplicationPlace | null;
}

const NOTHING: ApplicationCounts = { people: 0, roles: 0, permissions: 0, admins: 0 };

/** An application, and the tag for `ifMatch` of a change. */
export interface TaggedApplication {
  application: ApplicationRecord;
  etag: string;
}

export class Applications {
  readonly #database: Database;
  readonly #counts: Counts;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#counts = new Counts(database, clock);
  }

  /** The applications that `email` may view, by code, with how much each holds. */
  async list(email: string): Promise<CountedApplication[]> {
    const listed = await this.#database.read(async (tx) => {
      const { applications } = await reachIn(tx, email);
      const reached = new Set(applications.map(({ id }) => id));
      return (await listApplications(tx)).filter(({ id }) => reached.has(id));
    });
    const counts = await this.#counts.of(listed.map(({ id }) => id));
    return listed.map((application) => ({ ...application, counts: counts.get(application.id) ?? NOTHING }));
  }

  /** The same, narrowed and in another order, page by page. */
  async page(email: string, query: ApplicationQuery): Promise<Page<CountedApplication, ApplicationPlace>> {
    const { search, order, after } = query;
    const limit = query.limit ?? Number.MAX_SAFE_INTEGER;
    const read = async <T>(find: (tx: Tx, filter: ApplicationFilter) => Promise<T>): Promise<T> =>
      await this.#database.read(async (tx) => {
        const { applications } = await sightIn(tx, email, null);
        return await find(tx, { ids: applications?.map(({ id }) => id) ?? null, search });
      });
    const places = isStored(order)
      ? await read((tx, filter) => findApplicationsInOrder(tx, { ...filter, order, limit: limit + 1, after }))
      : await this.#byCount(await read(findApplicationIds), order, after);
    const shown = places.slice(0, limit);
    const ids = shown.map(({ id }) => id);
    const records = new Map(
      (await this.#database.read((tx) => readApplications(tx, ids))).map((record) => [record.id, record]),
    );
    const counts = await this.#counts.of(ids);
    // What was deleted meanwhile is left out.
    const items = ids.flatMap((id) => {
      const record = records.get(id);
      return record === undefined ? [] : [{ ...record, counts: counts.get(id) ?? NOTHING }];
    });
    return { items, next: places.length > limit ? (shown.at(-1) ?? null) : null };
  }

  /** Those behind a place. How many people there are is counted, or kept, for all of them at once. */
  async #byCount(
    found: readonly { id: number; code: string }[],
    order: keyof ApplicationCounts,
    after: ApplicationPlace | null,
  ): Promise<readonly (ApplicationPlace & { id: number; key: number })[]> {
    const counts = await this.#counts.of(found.map(({ id }) => id));
    const places = found.map(({ id, code }) => ({ id, code, key: counts.get(id)?.[order] ?? 0 }));
    const isBehind = ({ key, code }: { key: number; code: string }) =>
      after === null || key < Number(after.key) || (key === after.key && byCodeUnit(code, after.code) > 0);
    return places.filter(isBehind).sort((a, b) => b.key - a.key || byCodeUnit(a.code, b.code));
  }

  /** NOT_FOUND for an unknown one. */
  get(code: string): Promise<TaggedApplication> {
    return this.#database.read(async (tx) => tagged(await existing(tx, code)));
  }

  /** Creates the application with its notification type `generic`. ALREADY_EXISTS, UNKNOWN_LANGUAGES. */
  create(wanted: NewApplication, by: By): Promise<Committed<TaggedApplication>> {
    const { code, name, description = null, supportedLanguages = [], strictCodes = false, tellEndings = true } = wanted;
    const about = { app: code, action: 'application.created', guard: managerOfAll('create an application') };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      await refuseUnknownLanguages(tx, supportedLanguages);
      const id = await insertApplication(tx, { code, name, description, strictCodes, tellEndings });
      if (id === null) throw new UsherError('ALREADY_EXISTS', `Application ${code} exists already.`);
      await replaceLanguages(tx, id, supportedLanguages);
      await ensureGenericType(tx, id);
      const made = await existing(tx, code);
      audit({ subject: code, after: content(made) });
      return { result: tagged(made), scopes: [`a:${code}`] };
    });
  }

  /** Changes the fields sent. IMMUTABLE_FIELD for a changed code, UNKNOWN_LANGUAGES, STALE when `ifMatch` is of an older state. */
  change(
    code: string,
    change: { [Field in keyof NewApplication]?: NewApplication[Field] | undefined },
    ifMatch: string | undefined,
    by: By,
  ): Promise<Committed<TaggedApplication>> {
    const about = { app: code, action: 'application.changed', guard: editorOf(code), policyAlone: true };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const id = await applicationAlone(tx, code);
      const before = await existing(tx, code);
      refuseStale(ifMatch, tagged(before).etag);
      refuseImmutable('code', code, change.code);
      if (change.supportedLanguages) await refuseUnknownLanguages(tx, change.supportedLanguages);
      const wanted = {
        name: change.name ?? before.name,
        description: change.description === undefined ? before.description : change.description,
        supportedLanguages: change.supportedLanguages ?? before.supportedLanguages,
        strictCodes: change.strictCodes ?? before.strictCodes,
        tellEndings: change.tellEndings ?? before.tellEndings,
      };
      if (isSame(content({ ...before, ...wanted }), content(before))) return { result: tagged(before), scopes: [] };
      await updateApplication(tx, id, wanted);
      if (change.supportedLanguages) await replaceLanguages(tx, id, change.supportedLanguages);
      const after = await existing(tx, code);
      audit({ subject: code, before: content(before), after: content(after) });
      return { result: tagged(after), scopes: [`p:${code}`] };
    });
  }

  /**
   * Deletes everything that belongs to it, and the panel's levels on it: a later application with the same
   * code is a new one. SYSTEM_RECORD for the panel's own.
   */
  delete(code: string, by: By): Promise<Committed<null>> {
    const guard = allOf(editorOf(code), managerOfAll('delete an application'));
    const about = { app: code, action: 'application.deleted', guard, overrides: true, also: panelLevelsOf(code, by) };
    return administer(this.#database, by, about, async ({ tx, audit }) => {
      const id = await applicationAlone(tx, code);
      refuseSystem(code === PANEL_APP, `application ${code}`);
      const before = await existing(tx, code);
      const { resourceType, resourceId } = managedResource(code);
      const managers = await deleteOverridesOfResource(tx, PANEL_APP, resourceType, resourceId);
      await deleteApplication(tx, id);
      audit({ subject: code, before: { ...content(before), managers } });
      const levels = managers.map((email): Scope => `m:${PANEL_APP}:${email}`);
      return { result: null, scopes: [`a:${code}`, ...levels] };
    });
  }

  /**
   * The application's texts by key, flat. `notifications.types.<code>.title`, and `.description` where the type has one; they
   * are stored without a locale. NOT_FOUND for an unknown application.
   */
  texts(code: string): Promise<Record<string, string>> {
    return this.#database.read(async (tx) => {
      const types = await readTypeTexts(tx, await knownApplication(tx, code));
      return Object.fromEntries(
        types.flatMap((type): [string, string][] => {
          const key = `notifications.types.${type.code}`;
          const title: [string, string] = [`${key}.title`, type.name];
          return type.description === null ? [title] : [title, [`${key}.description`, type.description]];
        }),
      );
    });
  }
}

function isStored(order: ApplicationOrder): order is StoredOrder {
  return order === 'code' || order === 'name' || order === 'updatedAt';
}

/** The panel's levels on the application go with it: those who hold them lose in the panel, for a caller who sees it. */
function panelLevelsOf(code: string, { caller }: By) {
  return async (tx: Tx): Promise<Concern[]> => {
    const { applications } = await reachIn(tx, caller.email);
    if (!applications.some((seen) => seen.code === PANEL_APP)) return [];
    const { resourceType, resourceId } = managedResource(code);
    const people = await holdersOfResource(tx, PANEL_APP, resourceType, resourceId);
    return [{ apps: [PANEL_APP], people, overrides: true }];
  };
}

/** UNKNOWN_LANGUAGES for codes missing from the registry; the others are locked until the transaction ends. */
async function refuseUnknownLanguages(tx: Tx, codes: readonly string[]): Promise<void> {
  const known = await holdLanguages(tx, codes);
  const languages = codes.filter((code) => !known.has(code));
  if (languages.length === 0) return;
  throw unknownLanguages(languages, await languageCodes(tx));
}

/** The writable fields of an application: the input of its tag, and the content of audit records. */
function content({ code, name, description, supportedLanguages, strictCodes, tellEndings }: Required<NewApplication>) {
  return { code, name, description, supportedLanguages, strictCodes, tellEndings };
}

function tagged(application: ApplicationRecord): TaggedApplication {
  return { application, etag: tagOf([application.id, content(application)]) };
}

async function existing(tx: Tx, code: string): Promise<ApplicationRecord> {
  const application = await readApplication(tx, code);
  if (application === undefined) throw unknownApplication(code);
  return application;
}
