import { unavailable } from '../../src/base/errors.ts';
import {
  type Change,
  type FactsSource,
  type GroundRows,
  Level,
  type LogWindow,
  type MemberAnswer,
  type MemberNeed,
  type PolicyRows,
  type Question,
  type Revision,
  UNBOUNDED,
} from '../../src/engine/types.ts';

interface Application {
  id: number;
  strictCodes: boolean;
  resourceTypes: string[];
  permissions: { id: number; code: string; tiered: boolean; global: boolean; groupName: string | null }[];
  /** Role id to permission id to level. */
  roles: Map<number, Map<number, Level>>;
  admins: Set<string>;
  holders: Map<string, Set<number>>;
  /** `email type id` to permission id to level. */
  overrides: Map<string, Map<number, Level>>;
}

/** The engine's storage as plain maps: rows, a change log, and a switch that takes it away. */
export class MemoryFacts implements FactsSource {
  readonly parallelism = 4;
  readonly #applications = new Map<string, Application>();
  readonly #inactive = new Set<string>();
  readonly #superadmins = new Set<string>();
  readonly #log: Change[] = [];
  #ids = 0;
  /** While true every read fails as a database that is away. */
  away = false;
  /** Statements that reached the storage. */
  reads = 0;
  /** When set, reads wait for it. */
  held: Promise<void> | null = null;

  get head(): Revision {
    return this.#log.length;
  }

  #changed(...scopes: string[]): Revision {
    this.#log.push({ revision: this.head + 1, nonce: `n${this.head + 1}`, scopes });
    return this.head;
  }

  announce(scope: string): Revision {
    return this.#changed(scope);
  }

  application(code: string): void {
    this.#applications.set(code, {
      id: ++this.#ids,
      strictCodes: false,
      resourceTypes: [],
      permissions: [],
      roles: new Map(),
      admins: new Set(),
      holders: new Map(),
      overrides: new Map(),
    });
    this.#changed(`a:${code}`);
  }

  #of(app: string): Application {
    const found = this.#applications.get(app);
    if (found === undefined) throw new Error(`the test has no application ${app}`);
    return found;
  }

  permission(app: string, code: string, more: { tiered?: boolean; global?: boolean; groupName?: string } = {}): void {
    const { tiered = false, global = false, groupName = null } = more;
    this.#of(app).permissions.push({ id: ++this.#ids, code, tiered, global, groupName });
    this.#changed(`p:${app}`);
  }

  role(app: string, levels: Record<string, Level>): number {
    const id = ++this.#ids;
    const byCode = new Map(this.#of(app).permissions.map((permission) => [permission.code, permission.id]));
    const entries = Object.entries(levels).map(([code, level]): [number, Level] => [byCode.get(code) ?? -1, level]);
    this.#of(app).roles.set(id, new Map(entries));
    this.#changed(`p:${app}`);
    return id;
  }

  assign(app: string, email: string, role: number): Revision {
    const held = this.#of(app).holders.get(email) ?? new Set();
    this.#of(app).holders.set(email, held.add(role));
    return this.#changed(`m:${app}:${email}`);
  }

  revoke(app: string, email: string): Revision {
    this.#of(app).holders.delete(email);
    return this.#changed(`m:${app}:${email}`);
  }

  override(app: string, email: string, resource: [type: string, id: string], code: string, level: Level): void {
    const key = [email, ...resource].join(' ');
    const permission = this.#of(app).permissions.find((one) => one.code === code);
    const levels = this.#of(app).overrides.get(key) ?? new Map();
    this.#of(app).overrides.set(key, levels.set(permission?.id ?? -1, level));
    this.#changed(`m:${app}:${email}`);
  }

  admin(app: string, email: string): void {
    this.#of(app).admins.add(email);
    this.#changed(`m:${app}:${email}`);
  }

  dismiss(app: string, email: string): void {
    this.#of(app).admins.delete(email);
    this.#changed(`m:${app}:${email}`);
  }

  isAppAdmin(email: string): boolean {
    return [...this.#applications.values()].some(({ admins }) => admins.has(email));
  }

  superadmin(email: string): void {
    this.#superadmins.add(email);
    this.#changed(`u:${email}`);
  }

  deactivate(email: string): void {
    this.#inactive.add(email);
    this.#changed(`u:${email}`);
  }

  async #read<T>(since: Revision, facts: () => T): Promise<{ window: LogWindow; facts: T }> {
    this.reads++;
    if (this.held) await this.held;
    // A statement is never answered in the turn that sends it.
    await Promise.resolve();
    if (this.away) throw unavailable('The database does not answer.');
    const changes = this.#log.slice(since);
    const sinceNonce = this.#log[since - 1]?.nonce ?? null;
    const headNonce = this.#log.at(-1)?.nonce ?? null;
    return { window: { head: this.head, headNonce, sinceNonce, changes, tooMany: false }, facts: facts() };
  }

  async members(
    since: Revision,
    needs: readonly MemberNeed[],
  ): Promise<{ window: LogWindow; answers: MemberAnswer[] }> {
    const { window, facts } = await this.#read(since, () => needs.map((need) => this.#answer(need)));
    return { window, answers: facts };
  }

  #answer({ email, app, resourceType, resourceId }: MemberNeed): MemberAnswer {
    const application = this.#applications.get(app);
    const levels = application?.overrides.get([email, resourceType, resourceId].join(' ')) ?? new Map<number, Level>();
    return {
      person: { email, active: !this.#inactive.has(email), superadmin: this.#superadmins.has(email) },
      member: {
        app,
        email,
        appId: application?.id ?? null,
        admin: application?.admins.has(email) ?? false,
        roleIds: [...(application?.holders.get(email) ?? [])],
      },
      overrides:
        resourceType === ''
          ? null
          : {
              app,
              email,
              resourceType,
              resourceId,
              levels: [...levels].map(([permissionId, level]) => ({ permissionId, level })),
            },
      boundaries: UNBOUNDED,
    };
  }

  async policy(since: Revision, app: string): Promise<{ window: LogWindow; policy: PolicyRows }> {
    const { window, facts } = await this.#read(since, () => this.#policy(app));
    return { window, policy: facts };
  }

  #policy(app: string): PolicyRows {
    const application = this.#applications.get(app);
    return {
      app,
      appId: application?.id ?? null,
      strictCodes: application?.strictCodes ?? false,
      resourceTypes: application?.resourceTypes ?? [],
      permissions: application?.permissions ?? [],
      rolePermissions: [...(application?.roles ?? [])].flatMap(([roleId, levels]) =>
        [...levels].map(([permissionId, level]) => ({ roleId, permissionId, level })),
      ),
    };
  }

  /** A role's code is `role-ID` here; whoever is mentioned is a user. */
  async grounds(since: Revision, question: Question): Promise<{ window: LogWindow; grounds: GroundRows }> {
    const { window, facts } = await this.#read(since, () => {
      const answer = this.#answer(question);
      const roles = answer.member.roleIds.map((id) => ({ id, code: `role-${id}` }));
      return { answer, userKnown: true, policy: this.#policy(question.app), roles };
    });
    return { window, grounds: facts };
  }

  async changes(since: Revision): Promise<LogWindow> {
    return (await this.#read(since, () => null)).window;
  }

  listen(): Promise<() => Promise<void>> {
    return Promise.resolve(() => Promise.resolve());
  }
}

/** A small application with every kind of answer in it. */
export function fillShop(facts: MemoryFacts): void {
  facts.application('shop');
  facts.permission('shop', 'reports.read', { global: true, groupName: 'Reports' });
  facts.permission('shop', 'pages', { tiered: true, groupName: 'Pages' });
  facts.permission('shop', 'constructor');
  facts.permission('shop', 'unheld', { tiered: true });
  const editor = facts.role('shop', { 'reports.read': Level.ALLOWED, pages: Level.VIEW, constructor: Level.ALLOWED });
  facts.assign('shop', 'jana@example.com', editor);
  facts.assign('shop', 'gone@example.com', editor);
  facts.override('shop', 'jana@example.com', ['page', '7'], 'pages', Level.NONE);
  facts.override('shop', 'jana@example.com', ['page', '8'], 'pages', Level.EDIT);
  facts.admin('shop', 'boss@example.com');
  facts.superadmin('root@example.com');
  facts.superadmin('gone@example.com');
  facts.deactivate('gone@example.com');
}
