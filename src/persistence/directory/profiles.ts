import { CompiledQuery, sql } from 'kysely';
import type { Statement, Tx } from '../database.ts';
import { asOnly } from '../driver/dialect.ts';
import { Prepared } from '../driver/prepared.ts';
import type { Row } from '../entities/schema.ts';

/** A user's record as stored. Besides the public fields: its account, and the age of its names. */
export interface ProfileRow extends Omit<Row<'profile'>, 'personId' | 'brandId' | 'stateChangedAt'> {
  /** The person's id. */
  id: number;
  email: string;
  /** The slug of the user's brand, or of the default brand where they chose none. */
  brand: string;
  /** The account that signs them in; null without one. */
  issuer: string | null;
  subject: string | null;
}

/** The fields that the identity provider and Usher both have of a user. */
export type Names = Pick<Row<'profile'>, 'firstName' | 'lastName' | 'displayName'>;

// Statements as text, not built each time: every access runs the first. There always is a default brand: the seed creates
// it, and nothing deletes it.
const COLUMNS = `f.person_id as id, p.email, f.first_name, f.last_name,
  f.display_name, f.names_changed_at, f.names_kept, f.avatar_url, f.locale, f.theme,
  f.timezone, f.created_at, f.updated_at,
  coalesce((select slug from brand where id = f.brand_id), (select slug from brand where is_default)) as brand`;

const ACCOUNT = 'x.issuer, x.user_id as subject';
const FOUND = `person p join profile f on f.person_id = p.id left join person_account x on x.person_id = p.id and x.signs_in`;

const FIND_SQL = `select ${COLUMNS}, ${ACCOUNT} from ${FOUND} where p.email = $1`;

const FIND_MANY = new Prepared<ProfileRow>(
  'find_profiles',
  `select ${COLUMNS}, ${ACCOUNT} from ${FOUND} where p.email = any($1::text[])`,
);

/**
 * Lists of equal length: $1 e-mail, $2 to $4 names, $5 their time, $6 picture, $7 codes of languages. In the order of the addresses, so that two writers of the
 * same people cannot deadlock. The people's rows are locked afterwards.
 */
const INSERT_SQL = `
  with given as (
    select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[])
      as g (email, first_name, last_name, display_name, names_changed_at, avatar_url, languages)),
  p as (
    insert into person (email, registered_at) select email, now() from given order by email collate "C"
    on conflict (email) do update set registered_at = coalesce(person.registered_at, excluded.registered_at)
    returning id, email),
  f as (
    insert into profile
      (person_id, first_name, last_name, display_name, names_changed_at, avatar_url, locale)
    select p.id, g.first_name, g.last_name, g.display_name, g.names_changed_at, g.avatar_url,
      coalesce(
        (select r.locale from registration_locale r join language l on l.code = r.locale
          where r.email = g.email and r.at > now() - interval '24 hours' order by r.at desc, r.org_id limit 1),
        (select l.code from unnest(string_to_array(g.languages, ' ')) with ordinality as w (code, n)
          join language l on l.code = w.code order by w.n limit 1))
    from p join given g on g.email = p.email order by p.email on conflict (person_id) do nothing
    returning *)
  select ${COLUMNS}, null::text as issuer, null::text as subject from p join f on f.person_id = p.id`;

/** The profile of an address in normal form; undefined when it does not exist. */
export async function findProfile(tx: Tx, email: string): Promise<ProfileRow | undefined> {
  return (await tx.kysely.executeQuery<ProfileRow>(CompiledQuery.raw(FIND_SQL, [email]))).rows[0];
}

/** The profiles of addresses in normal form, unordered; addresses without one are left out. */
export function profilesAt(emails: readonly string[]): Statement<ProfileRow> {
  return asOnly(FIND_MANY.with(emails));
}

/** The content of a new profile. */
export interface NewProfile {
  /** In normal form. */
  email: string;
  names?: Partial<Names>;
  picture?: string | null;
  /** The time of the names (a token's `iat`); null when the source does not say or has none. */
  at?: Date | null;
  /** Codes of languages that the person reads, the best first. */
  languages?: readonly string[];
}

/**
 * The id of the address's person, who has a profile afterwards; `created` tells whether this call created it. Of concurrent
 * calls exactly one creates it, and the others find it. An existing profile stays unchanged. Not a policy change.
 */
export async function ensureProfile(tx: Tx, profile: NewProfile): Promise<{ id: number; created: boolean }> {
  const found = await findProfileId(tx, profile.email);
  if (found !== undefined) return { id: found, created: false };
  const made = (await insertProfiles(tx, [profile])).get(profile.email);
  if (made !== undefined) return { id: made.id, created: true };
  const id = await findProfileId(tx, profile.email);
  if (id === undefined) throw new Error('profile vanished within its transaction');
  return { id, created: false };
}

/**
 * Creates the profiles of addresses that seem to have none, and their persons if necessary; each address once. The
 * brand is the default one, the locale the newest registration locale of the last 24 hours, else the first of their languages that the
 * registry has. By address; one that has a
 * profile is left out: another transaction created it meanwhile and has committed, because the insertion waited for that. They come
 * without an account.
 */
export async function insertProfiles(tx: Tx, profiles: readonly NewProfile[]): Promise<Map<string, ProfileRow>> {
  const of = <T>(pick: (profile: NewProfile) => T | null | undefined) => profiles.map((one) => pick(one) ?? null);
  const values = [
    of((one) => one.email),
    of((one) => one.names?.firstName),
    of((one) => one.names?.lastName),
    of((one) => one.names?.displayName),
    of((one) => one.at?.toISOString()),
    of((one) => one.picture),
    of((one) => one.languages?.join(' ')),
  ];
  const { rows } = await tx.kysely.executeQuery<ProfileRow>(CompiledQuery.raw(INSERT_SQL, values));
  return new Map(rows.map((row) => [row.email, row]));
}

async function findProfileId(tx: Tx, email: string): Promise<number | undefined> {
  const row = await tx.kysely
    .selectFrom('profile as f')
    .innerJoin('person as p', 'p.id', 'f.personId')
    .select('f.personId as id')
    .where('p.email', '=', email)
    .executeTakeFirst();
  return row?.id;
}

/**
 * When names from a source of the time `at` are stored (docs/reference/people.md#names):
 * `laterSecond`: only when `at` is later than the second of the newest source so far. For tokens, whose `iat` has whole seconds.
 * `notOlder`: unless `at` is earlier. For pushes and webhooks with a time.
 * `always`: for a change made here, and for sources without a time.
 */
export type NamesRule = 'laterSecond' | 'notOlder' | 'always';

/** A set of names as the column `names_kept` holds it. */
export function nameBits(names: Partial<Names>): number {
  return (
    (names.firstName === undefined ? 0 : 1) |
    (names.lastName === undefined ? 0 : 2) |
    (names.displayName === undefined ? 0 : 4)
  );
}

interface NamesChange {
  names: Partial<Names>;
  at: Date;
  rule: NamesRule;
  /** `keep`: from now on these names are their owner's. `respect`: names that are their owner's stay as they are. */
  own?: 'keep' | 'respect' | undefined;
}

/**
 * Stores the given names (null clears one) when the rule allows; returns whether it did. One atomic statement: whatever
 * the order in which sources arrive, the newest wins. `names_changed_at` never goes back.
 */
export async function applyNames(tx: Tx, id: number, { names, at, rule, own }: NamesChange): Promise<boolean> {
  const given = nameBits(names);
  // The names that may be written: all, or those that are not their owner's.
  const open = own === 'respect' ? sql<number>`(${given}::int & ~names_kept::int)` : sql<number>`${given}::int`;
  const { numUpdatedRows } = await tx.kysely
    .updateTable('profile')
    .set(() => {
      const next = (column: string, bit: number, value: string | null | undefined) =>
        sql<
          string | null
        >`case when ${open} & ${bit}::int <> 0 then ${value ?? null}::text else ${sql.ref(column)} end`;
      const first = next('firstName', 1, names.firstName);
      const last = next('lastName', 2, names.lastName);
      const display = next('displayName', 4, names.displayName);
      return {
        firstName: first,
        lastName: last,
        displayName: display,
        namesChangedAt: sql<Date>`greatest(names_changed_at, ${at}::timestamptz)`,
        ...(own === 'keep' ? { namesKept: sql<number>`(names_kept::int | ${given}::int)::smallint` } : {}),
        updatedAt: sql<Date>`case
          when first_name is distinct from ${first} or last_name is distinct from ${last}
            or display_name is distinct from ${display} then now() else updated_at end`,
      };
    })
    .where('personId', '=', id)
    .where(mayTake(at, rule))
    .where(sql<boolean>`${open} <> 0`)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

function mayTake(at: Date, rule: NamesRule) {
  switch (rule) {
    case 'always':
      return sql<boolean>`true`;
    case 'notOlder':
      return sql<boolean>`(names_changed_at is null or names_changed_at <= ${at}::timestamptz)`;
    case 'laterSecond':
      return sql<boolean>`(names_changed_at is null or date_trunc('second', names_changed_at) < ${at}::timestamptz)`;
  }
}

/** The fields that a user sets here, besides names; omitted ones stay. `brandId` null: whichever brand is the default. */
export type ProfileChange = Partial<Pick<Row<'profile'>, 'avatarUrl' | 'locale' | 'theme' | 'timezone' | 'brandId'>>;

/** Hold the language and the brand first (`holdLanguage`, `holdBrand`). */
export async function updateProfile(
  tx: Tx,
  id: number,
  { avatarUrl, locale, theme, timezone, brandId }: ProfileChange,
): Promise<void> {
  // Undefined fields are left out of the statement.
  await tx.kysely
    .updateTable('profile')
    .set({ avatarUrl, locale, theme, timezone, brandId, updatedAt: sql<Date>`now()` })
    .where('personId', '=', id)
    .execute();
}

export async function brandSlugs(tx: Tx): Promise<string[]> {
  const brands = await tx.kysely.selectFrom('brand').select('slug').orderBy('slug').execute();
  return brands.map(({ slug }) => slug);
}

/** The id of a brand, locked against deletion until the transaction ends; undefined for an unknown one. */
export async function holdBrand(tx: Tx, slug: string): Promise<number | undefined> {
  const brand = await tx.kysely
    .selectFrom('brand')
    .select('id')
    .where('slug', '=', slug)
    .forKeyShare()
    .executeTakeFirst();
  return brand?.id;
}
