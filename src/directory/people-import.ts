/** Many people at once, from a list that somebody keeps elsewhere (docs/reference/people.md#import). */

import { superAdmin } from '../administration/administer.ts';
import { type Issue, UsherError, validationFailed } from '../base/errors.ts';
import { isLanguageCode, isRoleCode, isSlug, normalizeEmail, RULES } from '../base/grammar.ts';
import { timeZoneOf } from '../base/time-zones.ts';
import type { AuditEntry } from '../persistence/audit.ts';
import { holdLanguages } from '../persistence/catalog/languages.ts';
import type { Committed, Database, Outcome, Scope, Tx } from '../persistence/database.ts';
import {
  giveRoles,
  holdBrands,
  holdNamedRoles,
  type ImportedProfile,
  type ImportedRole,
  lockProfiles,
  writeProfiles,
} from '../persistence/directory/people-import.ts';
import { insertProfiles, nameBits } from '../persistence/directory/profiles.ts';
import { isStorableName } from './names.ts';

/** People in one import. Each is a transaction; longer lists come in several. */
export const MAX_IMPORTED = 500;
const MAX_ROLES = 100;
const NAMES = ['firstName', 'lastName', 'displayName'] as const;

/** A person as a list has them; what is absent stays as it is. */
export interface ImportedPerson {
  email: string;
  firstName?: string | undefined;
  lastName?: string | undefined;
  displayName?: string | undefined;
  locale?: string | undefined;
  timezone?: string | undefined;
  brand?: string | undefined;
  /** `app/role` each. Given, never taken. */
  roles?: readonly string[] | undefined;
}

export interface ImportAnswer {
  created: number;
  changed: number;
  /** Already as the list has them. */
  kept: number;
  rolesGiven: number;
}

export interface ImportBy {
  /** `user:<email>` or `key:<name>`. */
  actor: string;
  /** The SuperAdmin, who is asked for again on rows of the transaction; null for a key. */
  administrator: string | null;
  requestId: string;
  reason?: string | undefined;
  dryRun: boolean;
}

/** A person whose fields all have the right form. */
interface Read extends Omit<ImportedPerson, 'roles'> {
  roles: readonly { app: string; role: string; path: string }[];
  path: string;
}

const guard = superAdmin('import people');

export class PeopleImport {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Makes the people who are missing, and changes the others where the list says something else. Repeated it changes nothing. A dry
   * run tells the same and changes nothing. VALIDATION_FAILED with every fault of the list, unknown roles, brands and languages among
   * them; then nothing is changed.
   */
  async run(
    people: readonly ImportedPerson[],
    by: ImportBy,
  ): Promise<Pick<Committed<ImportAnswer>, 'result'> & { revision: string | null }> {
    const refuse = async (tx: Tx) => (by.administrator === null ? null : await guard(tx, by.administrator));
    if (by.dryRun) {
      const result = await this.#database.rehearse(async (tx) => {
        const refused = await refuse(tx);
        if (refused !== null) throw refused;
        return (await carryOut(tx, people, by)).result;
      });
      return { result, revision: null };
    }
    const { result, revision } = await this.#database.change(
      async (tx): Promise<Outcome<ImportAnswer | UsherError>> => {
        const refused = await refuse(tx);
        if (refused === null) return await carryOut(tx, people, by);
        return {
          result: refused,
          scopes: [],
          records: [{ ...authorOf(by), action: 'people.imported.refused', subject: null }],
        };
      },
    );
    if (result instanceof UsherError) throw result;
    return { result, revision };
  }
}

function authorOf({ actor, requestId, reason }: ImportBy) {
  return { actor, appCode: null, requestId, reason };
}

async function carryOut(tx: Tx, people: readonly ImportedPerson[], by: ImportBy): Promise<Outcome<ImportAnswer>> {
  const issues: Issue[] = [];
  const read = people.map((person, at) => readPerson(person, `people.${at}`, issues));
  refuseRepeated(read, issues);
  const { brands, roles } = await references(tx, read, issues);
  if (issues.length > 0) throw validationFailed(issues);
  const { made, changed, profiles } = await storeProfiles(tx, read, brands);
  const given = await storeRoles(tx, read, roles, profiles);
  const author = authorOf(by);
  const records: AuditEntry[] = [
    ...[...made, ...changed].map(({ email, ...after }) => ({
      ...author,
      action: 'user.imported',
      subject: email,
      after,
    })),
    ...given.map(({ email, app, role }) => ({
      ...author,
      appCode: app,
      action: 'assignment.created',
      subject: email,
      after: { role },
    })),
  ];
  const scopes = new Set(given.map(({ app, email }): Scope => `m:${app}:${email}`));
  const touched = new Set([...made, ...changed, ...given].map(({ email }) => email));
  const result = {
    created: made.length,
    changed: touched.size - made.length,
    kept: read.length - touched.size,
    rolesGiven: given.length,
  };
  return { result, scopes: [...scopes], records };
}

function readPerson(person: ImportedPerson, path: string, issues: Issue[]): Read {
  const fault = (field: string, message: string) => void issues.push({ path: `${path}.${field}`, message });
  const email = normalizeEmail(person.email);
  if (email === null) fault('email', `must be ${RULES.email}`);
  for (const name of NAMES) {
    const value = person[name];
    if (value !== undefined && !isStorableName(value))
      fault(name, 'must be one line of 1 to 200 characters, without control characters');
  }
  const { locale, timezone, brand, roles = [] } = person;
  if (locale !== undefined && !isLanguageCode(locale)) fault('locale', `must be ${RULES.language}`);
  const zone = timezone === undefined ? undefined : timeZoneOf(timezone);
  if (zone === null) fault('timezone', `must be ${RULES.timeZone}`);
  if (brand !== undefined && !isSlug(brand)) fault('brand', `must be ${RULES.slug}`);
  if (roles.length > MAX_ROLES) fault('roles', `must be at most ${MAX_ROLES}`);
  const named = roles.slice(0, MAX_ROLES).flatMap((text, at) => {
    const [app = '', role = '', ...rest] = text.split('/');
    if (rest.length === 0 && isSlug(app) && isRoleCode(role)) return [{ app, role, path: `${path}.roles.${at}` }];
    fault(`roles.${at}`, 'must be APP/ROLE: the code of an application, and that of one of its roles');
    return [];
  });
  return { ...person, email: email ?? '', timezone: zone ?? undefined, roles: named, path };
}

function refuseRepeated(people: readonly Read[], issues: Issue[]): void {
  const first = new Map<string, string>();
  for (const { email, path } of people) {
    const earlier = first.get(email);
    if (email === '') continue;
    if (earlier === undefined) first.set(email, path);
    else issues.push({ path: `${path}.email`, message: `${email} is named before, in ${earlier}; name each once` });
  }
}

interface References {
  brands: ReadonlyMap<string, number>;
  /** By `app/role`. */
  roles: ReadonlyMap<string, ImportedRole>;
}

/** What the list refers to, held until the transaction ends; what is unknown is a fault. */
async function references(tx: Tx, people: readonly Read[], issues: Issue[]): Promise<References> {
  const each = (pick: (person: Read) => string | undefined) => [
    ...new Set(people.flatMap((person) => pick(person) ?? [])),
  ];
  const languages = await holdLanguages(
    tx,
    each(({ locale }) => locale),
  );
  const brands = await holdBrands(
    tx,
    each(({ brand }) => brand),
  );
  const held = await holdNamedRoles(
    tx,
    people.flatMap(({ roles }) => roles),
  );
  const roles = new Map(held.roles.map((one) => [`${one.app}/${one.role}`, one]));
  for (const { path, locale, brand, roles: named } of people) {
    if (locale !== undefined && isLanguageCode(locale) && !languages.has(locale))
      issues.push({ path: `${path}.locale`, message: `there is no language ${locale}` });
    if (brand !== undefined && isSlug(brand) && !brands.has(brand))
      issues.push({ path: `${path}.brand`, message: `there is no brand ${brand}` });
    for (const { app, role, path: at } of named) {
      if (roles.has(`${app}/${role}`)) continue;
      const message = held.apps.has(app) ? `${app} has no role ${role}` : `there is no application ${app}`;
      issues.push({ path: at, message });
    }
  }
  return { brands, roles };
}

/** What was written of a person, for the audit. */
type Written = { email: string } & Partial<Record<(typeof NAMES)[number] | 'locale' | 'timezone' | 'brand', string>>;

async function storeProfiles(tx: Tx, people: readonly Read[], brands: ReadonlyMap<string, number>) {
  const emails = people.map(({ email }) => email);
  const there = await lockProfiles(tx, emails);
  const missing = people.filter(({ email }) => !there.has(email));
  const made = await insertProfiles(
    tx,
    missing.map(({ email }) => ({ email })),
  );
  // Locked too, and those that somebody else has made meanwhile.
  const profiles = missing.length === 0 ? there : await lockProfiles(tx, emails);
  const all = people.flatMap((person) => {
    const profile = profiles.get(person.email);
    return profile === undefined ? [] : [written(person, profile, brands)];
  });
  await writeProfiles(
    tx,
    all.flatMap(({ after }) => after ?? []),
  );
  const isNew = ({ fields }: { fields: Written }) => made.has(fields.email);
  return {
    made: all.filter(isNew).map(({ fields }) => fields),
    changed: all.filter((one) => !isNew(one) && one.after !== null).map(({ fields }) => fields),
    profiles,
  };
}

/** The profile as the list has it, or null where it is so already. Names that somebody has changed stay. */
function written(
  person: Read,
  profile: ImportedProfile,
  brands: ReadonlyMap<string, number>,
): { fields: Written; after: ImportedProfile | null } {
  const after = { ...profile };
  const fields: Written = { email: person.email };
  for (const name of NAMES) {
    const value = person[name];
    const isOpen = profile.namesChangedAt === null && (profile.namesKept & nameBits({ [name]: '' })) === 0;
    if (value === undefined || !isOpen || value === profile[name]) continue;
    after[name] = value;
    fields[name] = value;
  }
  for (const name of ['locale', 'timezone'] as const) {
    const value = person[name];
    if (value === undefined || value === profile[name]) continue;
    after[name] = value;
    fields[name] = value;
  }
  const brandId = person.brand === undefined ? undefined : brands.get(person.brand);
  if (person.brand !== undefined && brandId !== undefined && brandId !== profile.brandId) {
    after.brandId = brandId;
    fields.brand = person.brand;
  }
  return { fields, after: Object.keys(fields).length > 1 ? after : null };
}

async function storeRoles(
  tx: Tx,
  people: readonly Read[],
  roles: ReadonlyMap<string, ImportedRole>,
  profiles: ReadonlyMap<string, ImportedProfile>,
): Promise<{ email: string; app: string; role: string }[]> {
  const wanted = people.flatMap(({ email, roles: named }) =>
    named.flatMap(({ app, role }) => {
      const [found, profile] = [roles.get(`${app}/${role}`), profiles.get(email)];
      return found === undefined || profile === undefined ? [] : [{ ...found, email, person: profile.id }];
    }),
  );
  const given = new Set((await giveRoles(tx, wanted)).map(({ person, roleId }) => `${person}:${roleId}`));
  // A role that is named twice is given once.
  return wanted.filter(({ person, roleId }) => given.delete(`${person}:${roleId}`));
}
