import { afterAll, beforeAll } from '@jest/globals';
import { sql } from 'kysely';
import { createStorage, type Kind, type TestStorage } from '../support/databases.ts';
import { Rest } from '../support/rest.ts';
import { type RunningUsher, startUsher } from '../support/usher.ts';

const BILLING = `
application: { code: billing, name: Billing }
entities: [{ code: invoice, name: Invoice }]
permissions: [{ code: invoice.read, type: tiered }]
roles: [{ code: reader, permissions: { invoice.read: view } }]
admins: [nora@example.com]
assignments: [{ email: ben@example.com, roles: [reader] }]
overrides: [{ email: ida@example.com, resourceType: invoice, resourceId: "1", permission: invoice.read, granted: false }]
`;
const SHOP = `
application: { code: shop, name: Shop }
permissions: [{ code: order.read, type: binary }]
roles: [{ code: clerk, permissions: { order.read: allowed } }]
admins: [olga@example.com]
assignments: [{ email: ben@example.com, roles: [clerk] }, { email: sam@example.com, roles: [clerk] }]
`;
const PANEL = `
application: { code: auth, name: Administration }
assignments:
  - { email: pat@example.com, roles: [panel_admin] }
  - { email: viv@example.com, roles: [application_manager] }
  - { email: eva@example.com, roles: [application_manager] }
overrides:
  - { email: viv@example.com, resourceType: application, resourceId: shop, permission: applications.manage, granted: true, accessLevel: view }
  - { email: pat@example.com, resourceType: application, resourceId: billing, permission: applications.manage, granted: false }
`;

/** A service with two applications, `billing` and `shop`, and people who administer some of it, all or nothing. */
export class Registry {
  readonly usher: RunningUsher;
  readonly #storage: TestStorage;
  readonly #as: ReadonlyMap<string, Rest>;

  private constructor(storage: TestStorage, usher: RunningUsher, as: ReadonlyMap<string, Rest>) {
    this.#storage = storage;
    this.usher = usher;
    this.#as = as;
  }

  static async start(kind: Kind): Promise<Registry> {
    const storage = await createStorage(kind);
    const usher = await startUsher(storage);
    for (const text of [BILLING, SHOP, PANEL]) await usher.app.manifests.apply(text, { actor: 'cli' });
    const as = new Map<string, Rest>();
    for (const name of ['admin', 'nora', 'olga', 'ben', 'sam', 'pat', 'viv', 'eva', 'ida']) {
      as.set(name, await Rest.as(usher, `${name}@example.com`));
    }
    // A profile, and logins, as the slices that make them do.
    await usher.app.database.change(async (tx) => {
      await sql`insert into person (email, registered_at) values ('dan@example.com', now())`.execute(tx.kysely);
      await sql`update person set registered_at = now() where email = 'ben@example.com'`.execute(tx.kysely);
      // For a person who does not call here: callers bring their accounts along.
      await sql`insert into profile (person_id) select id from person where email = 'dan@example.com'`.execute(
        tx.kysely,
      );
      await sql`insert into person_account (issuer, user_id, person_id, signs_in)
        select 'https://idp.example.com', 'sub-1', id, true from person where email = 'dan@example.com'`.execute(
        tx.kysely,
      );
      await sql`insert into profile (person_id, first_name, display_name)
        select id, 'Ben', 'Ben 100%_Böhm' from person where email = 'ben@example.com'`.execute(tx.kysely);
      await sql`insert into app_preference (person_id, application_id, first_login_at, last_login_at, login_count, last_activity_at)
        select p.id, a.id, '2026-01-01Z', case a.code when 'shop' then '2026-03-03Z'::timestamptz else '2026-02-02Z' end, 3, '2026-04-04Z'
        from person p, application a where p.email = 'ben@example.com' and a.code in ('billing', 'shop')`.execute(
        tx.kysely,
      );
      await sql`insert into app_preference (person_id, application_id)
        select p.id, a.id from person p, application a where p.email = 'dan@example.com' and a.code = 'billing'`.execute(
        tx.kysely,
      );
      return { result: null, scopes: [] };
    });
    return new Registry(storage, usher, as);
  }

  async stop(): Promise<void> {
    await this.usher.close();
    await this.#storage.remove();
  }

  /** Requests of one of them, by the part of the address before the `@`. */
  who(name: string): Rest {
    const rest = this.#as.get(name);
    if (rest === undefined) throw new Error(`nobody is called ${name}`);
    return rest;
  }

  async audits(action: string) {
    return await this.usher.app.database.read(
      async (tx) =>
        await tx.kysely.selectFrom('audit').selectAll().where('action', '=', action).orderBy('id').execute(),
    );
  }

  async allowed(email: string, permission: string, app = 'billing'): Promise<boolean> {
    return (await this.who('admin').post('/api/check', { email, app, permission })).body.data.allowed;
  }
}

/** What tests use of a registry whose start and end are not theirs. */
export type StartedRegistry = Pick<Registry, 'usher' | 'who' | 'audits' | 'allowed'>;

/** One registry for all tests of a describe, after `fill`; valid in tests and hooks. */
export function useRegistry(kind: Kind, fill: (registry: Registry) => Promise<void> = async () => {}): StartedRegistry {
  let started: Registry | undefined;
  const registry = (): Registry => {
    if (started === undefined) throw new Error('the registry exists only in tests and hooks');
    return started;
  };
  beforeAll(async () => {
    started = await Registry.start(kind);
    await fill(started);
  });
  afterAll(async () => {
    await started?.stop();
  });
  return {
    get usher() {
      return registry().usher;
    },
    who: (name) => registry().who(name),
    audits: (action) => registry().audits(action),
    allowed: (...question) => registry().allowed(...question),
  };
}

/** Of a list of users: the parts of their addresses before the `@`, in order. */
export function emails(body: { data: { email: string }[] }): string[] {
  return body.data.map(({ email }) => email.split('@')[0] ?? '').sort();
}
