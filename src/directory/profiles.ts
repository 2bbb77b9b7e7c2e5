/**
 * People's own records: created on first access, kept in step with the identity provider, changed by their owners.
 * (docs/reference/people.md#profiles.)
 */

import { reachIn } from '../administration/reach.ts';
import { refuseImmutable } from '../administration/records.ts';
import type { Clock } from '../base/clock.ts';
import { UsherError, validationFailed } from '../base/errors.ts';
import { isStorableUrl } from '../base/grammar.ts';
import { unknownBrand, unknownLanguages } from '../base/unregistered.ts';
import { holdLanguage, languageCodes } from '../persistence/catalog/languages.ts';
import type { Database, Tx } from '../persistence/database.ts';
import {
  applyNames,
  brandSlugs,
  findProfile,
  holdBrand,
  type Names,
  type ProfileChange,
  type ProfileRow,
  profilesAt,
  updateProfile,
} from '../persistence/directory/profiles.ts';
import { readMemberships } from '../persistence/directory/users.ts';
import { personIdOf } from '../persistence/people/people.ts';
import type { AccountRefusals } from './account-refusals.ts';
import { Batcher } from './batcher.ts';
import type { NameDirectory, NameTurn } from './names.ts';
import { isCurrent, makeProfiles, present, type SignedIn, type TokenPolicy } from './presence.ts';
import { type ProfileRecord, profileRecord, type Theme } from './profile-record.ts';
import type { WorkQueue } from './work-queue.ts';

/** The fields that an owner may send; omitted ones stay. Null clears a name or the picture, and resets the others. */
export interface ProfileUpdate {
  /** Only the present one, in normal form. */
  email?: string | undefined;
  firstName?: string | null | undefined;
  lastName?: string | null | undefined;
  displayName?: string | null | undefined;
  avatarUrl?: string | null | undefined;
  locale?: string | null | undefined;
  theme?: Theme | undefined;
  timezone?: string | null | undefined;
  /** A slug; null: the default brand. */
  brand?: string | null | undefined;
}

/** Names pushed by the identity provider's own editor. Null and the empty text clear a name; omitted ones stay. */
export interface PushedNames {
  firstName?: string | null | undefined;
  lastName?: string | null | undefined;
  displayName?: string | null | undefined;
  /** When they were changed there; undefined: just now. */
  changedAt?: Date | undefined;
}

/** The request of an update. `signal` is aborted once the caller has left; work that has begun is still completed. */
export interface ByOwner {
  readonly requestId: string;
  readonly signal: AbortSignal;
}

interface ProfilesOptions {
  database: Database;
  clock: Pick<Clock, 'now'>;
  policy: TokenPolicy;
  turns: WorkQueue;
  refusals: AccountRefusals;
  /** The provider, which owns names; null where none is configured: then they are stored here only. */
  names: NameDirectory | null;
  /** `idp.publicUrl` of the configuration. */
  idpPublicUrl: string | null;
}

export class Profiles {
  readonly #options: ProfilesOptions;
  /** Reads of the own profile, the first request of every front end. */
  readonly #reads: Batcher<null, ProfileRow>;
  /** First requests: on the first morning of an application they all come at once. */
  readonly #arrivals: Batcher<SignedIn, ProfileRow>;

  constructor(options: ProfilesOptions) {
    this.#options = options;
    const { database, policy, turns } = options;
    this.#reads = new Batcher(turns, async (emails) => {
      const found = await database.once(profilesAt([...emails.keys()]));
      return new Map(found.map((row) => [row.email, row]));
    });
    this.#arrivals = new Batcher(turns, async (callers) => {
      const made = await database.change(async (tx) => ({
        result: await makeProfiles(tx, [...callers.values()], policy),
        scopes: [],
      }));
      return made.result;
    });
  }

  /** The caller's own record: created at the first access, with the names of a newer token. One read where nothing is new. */
  async mine(caller: SignedIn, requestId: string): Promise<ProfileRecord> {
    return this.#toRecord(await this.#present(caller, requestId));
  }

  /** A person's record. Throws NOT_FOUND. */
  async find(email: string): Promise<ProfileRecord> {
    const found = await this.#options.database.read((tx) => findProfile(tx, email));
    if (found === undefined) throw new UsherError('NOT_FOUND', 'There is no user with this address.');
    return this.#toRecord(found);
  }

  /**
   * The same for an administrator. SuperAdmins and AppAdmins see everybody; a panel user sees users of the applications on which
   * they have a level, and gets NO_APPLICATION_LEVEL for everybody else, known or not.
   */
  async findFor(reader: string, email: string): Promise<ProfileRecord> {
    const found = await this.#options.database.read(async (tx) => {
      await refuseStranger(tx, reader, email);
      return await findProfile(tx, email);
    });
    if (found === undefined) throw new UsherError('NOT_FOUND', 'There is no user with this address.');
    return this.#toRecord(found);
  }

  /**
   * Changes the fields sent. Names are written to the identity provider first, even unchanged ones, and stored
   * only after it accepted them (IDP_UNREACHABLE, IDP_REJECTED: nothing is stored). Without a provider a changed name is the
   * owner's from now on: tokens no longer change it. Where the provider accepts the names and storing fails, the caller gets the
   * error, and the provider's names arrive here with the next token, push or webhook. UNAVAILABLE when another change of the
   * same person's names takes too long.
   * IMMUTABLE_FIELD for a changed e-mail, UNKNOWN_REFERENCE for a brand, UNKNOWN_LANGUAGES for an unknown language.
   */
  async update(caller: SignedIn, update: ProfileUpdate, by: ByOwner): Promise<ProfileRecord> {
    const profile = await this.#present(caller, by.requestId);
    refuseImmutable('email', profile.email, update.email);
    this.#refuseUrl(update.avatarUrl);
    const changed = differing(profile, update);
    const { database, names: directory } = this.#options;
    // The provider may have another name than the one stored here.
    const names = namesIn(directory === null ? changed : withoutUnknownNames(profile, update));
    if (Object.keys(changed).length === 0 && Object.keys(names).length === 0) return this.#toRecord(profile);
    if (directory === null || Object.keys(names).length === 0) return await this.#store(profile, changed, names, null);
    refuseCleared(names);
    // One change of names at a time, so that the last one here is also the last at the provider.
    return await directory.inTurn(profile.id, by.signal, async (turn) => {
      // Check the references first: a refusal after the provider's write would be too late.
      await database.change(async (tx) => ({ result: await references(tx, changed), scopes: [] }));
      // A caller who got a timeout must not see the change take effect later.
      by.signal.throwIfAborted();
      await directory.writeNames(caller, names);
      return await this.#store(profile, changed, names, turn);
    });
  }

  /** Stores pushed names; false for an unknown user, and for names older than the stored ones. */
  async push(email: string, { changedAt, ...pushed }: PushedNames): Promise<boolean> {
    const { database, clock, turns } = this.#options;
    const { result } = await turns.take(() =>
      database.change(async (tx) => {
        const profile = await findProfile(tx, email);
        if (profile === undefined) return { result: false, scopes: [] };
        const now = clock.now();
        // An editor's clock that runs far ahead must not make all later changes look old.
        const at = new Date(Math.min(changedAt?.getTime() ?? now, now + AHEAD_MS));
        const rule = changedAt === undefined ? 'always' : 'notOlder';
        const names = namesIn(cleared(pushed));
        if (Object.keys(names).length > 0) {
          return { result: await applyNames(tx, profile.id, { names, at, rule }), scopes: [] };
        }
        const known = profile.namesChangedAt;
        return { result: rule === 'always' || known === null || known <= at, scopes: [] };
      }),
    );
    return result;
  }

  async #present(caller: SignedIn, requestId: string): Promise<ProfileRow> {
    const { database, policy, turns, refusals } = this.#options;
    const found = (await this.#reads.ask(caller.email, null)) ?? (await this.#arrivals.ask(caller.email, caller));
    if (found !== undefined && isCurrent(found, caller, policy)) return found;
    const { result } = await refusals.watch(caller, requestId, () =>
      turns.take(() =>
        database.change(async (tx) => ({ result: await present(tx, caller, policy, requestId), scopes: [] })),
      ),
    );
    return result;
  }

  async #store(
    { id, email }: ProfileRow,
    update: ProfileUpdate,
    names: Partial<Names>,
    turn: NameTurn | null,
  ): Promise<ProfileRecord> {
    const { database, turns, clock, policy } = this.#options;
    const at = new Date(clock.now());
    const { result } = await turns.take(() =>
      database.change(async (tx) => {
        await turn?.end(tx);
        const { brandId } = await references(tx, update);
        const change = settings(update, brandId);
        if (Object.keys(change).length > 0) await updateProfile(tx, id, change);
        const own = policy.ownNames ? 'keep' : undefined;
        if (Object.keys(names).length > 0) await applyNames(tx, id, { names, at, rule: 'always', own });
        const stored = await findProfile(tx, email);
        if (stored === undefined) throw new Error('profile vanished within its transaction');
        return { result: stored, scopes: [] };
      }),
    );
    return this.#toRecord(result);
  }

  #toRecord(row: ProfileRow): ProfileRecord {
    return profileRecord(row, this.#options.idpPublicUrl);
  }

  #refuseUrl(url: string | null | undefined): void {
    const { allowHttp } = this.#options.policy;
    if (url === undefined || url === null || isStorableUrl(url, allowHttp)) return;
    throw validationFailed([{ path: 'avatarUrl', message: 'must be an https URL without credentials' }]);
  }
}

/** How far a source's clock may be ahead of this service's, as for tokens (docs/reference/people.md#names). */
const AHEAD_MS = 30_000;

const NAMES = ['firstName', 'lastName', 'displayName'] as const;
const FIELDS = [...NAMES, 'avatarUrl', 'locale', 'theme', 'timezone', 'brand'] as const;

/** The fields of the update that differ: callers who send back a whole record change only what they edited. */
function differing(profile: ProfileRow, update: ProfileUpdate): ProfileUpdate {
  return Object.fromEntries(
    FIELDS.filter((field) => update[field] !== undefined && update[field] !== profile[field]).map((field) => [
      field,
      update[field],
    ]),
  );
}

/** A record that is sent back with a name that nobody knew here must not clear the one that the provider may have. */
function withoutUnknownNames(profile: ProfileRow, update: ProfileUpdate): ProfileUpdate {
  return Object.fromEntries(
    Object.entries(update).filter(
      ([field, value]) => value !== null || !NAMES.some((name) => name === field && profile[name] === null),
    ),
  );
}

/** The provider demands a first and a last name of everybody: it would refuse the whole write. */
function refuseCleared(names: Partial<Names>): void {
  const cleared = (['firstName', 'lastName'] as const).filter((name) => names[name] === null);
  if (cleared.length === 0) return;
  const message = 'cannot be cleared: the identity provider demands a name of 1 to 200 characters';
  throw validationFailed(cleared.map((path) => ({ path, message })));
}

function namesIn(update: ProfileUpdate): Partial<Names> {
  const names: Partial<Names> = {};
  for (const field of NAMES) {
    const name = update[field];
    if (name !== undefined) names[field] = name;
  }
  return names;
}

/** A blank name clears the name. */
function cleared(names: Omit<PushedNames, 'changedAt'>): ProfileUpdate {
  return Object.fromEntries(
    Object.entries(names).map(([field, name]) => [field, typeof name === 'string' && name.trim() === '' ? null : name]),
  );
}

/** Looks up what the update refers to and holds it until the transaction ends. Throws UNKNOWN_REFERENCE, UNKNOWN_LANGUAGES. */
async function references(tx: Tx, { brand, locale }: ProfileUpdate): Promise<{ brandId: number | null | undefined }> {
  if (locale !== undefined && locale !== null && !(await holdLanguage(tx, locale))) {
    throw unknownLanguages([locale], await languageCodes(tx), 'locale');
  }
  if (brand === undefined || brand === null) return { brandId: brand };
  const brandId = await holdBrand(tx, brand);
  if (brandId === undefined) throw unknownBrand(brand, await brandSlugs(tx));
  return { brandId };
}

function settings(
  { avatarUrl, locale, theme, timezone }: ProfileUpdate,
  brandId: number | null | undefined,
): ProfileChange {
  return {
    ...(avatarUrl === undefined ? {} : { avatarUrl }),
    ...(locale === undefined ? {} : { locale }),
    ...(theme === undefined ? {} : { theme }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(brandId === undefined ? {} : { brandId }),
  };
}

async function refuseStranger(tx: Tx, reader: string, email: string): Promise<void> {
  const { superadmin, appAdminFor, applications } = await reachIn(tx, reader);
  if (superadmin || appAdminFor.length > 0) return;
  const person = applications.length === 0 ? null : await personIdOf(tx, email);
  const apps = applications.map(({ id }) => id);
  if (person !== null && (await readMemberships(tx, person, apps)).length > 0) return;
  throw new UsherError('NO_APPLICATION_LEVEL', 'You have no level on any application of this user.');
}
