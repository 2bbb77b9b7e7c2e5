/**
 * What the right answer is: the six rules (docs/reference/decisions.md),
 * told here a second time and on purpose without a line of src/, so that a fault there shows as a wrong answer.
 */
import type { BenchApplication, Dataset, Level } from './dataset.ts';

export interface BenchQuestion {
  email: string;
  app: string;
  permission: string;
  resourceType: string;
  resourceId: string;
  /** The level asked for: 0 any, 2 view, 3 edit. */
  asked: Level;
}

export type BenchSubject = Omit<BenchQuestion, 'permission' | 'asked'>;

/** `source` by its number in the RPC: 0 none, 1 role, 2 override, 3 superadmin, 4 app_admin. */
export interface BenchAnswer {
  allowed: boolean;
  level: Level;
  source: number;
}

const DENIED: BenchAnswer = { allowed: false, level: 0, source: 0 };

interface Held {
  level: Level;
  source: number;
  /** Whether a level asked for is compared with the one held. */
  compared: boolean;
}

export class Oracle {
  readonly #dataset: Dataset;
  readonly #inactive = new Set<string>();
  readonly #superadmins = new Set<string>();
  readonly #overrides = new Map<string, Level>();

  constructor(dataset: Dataset) {
    this.#dataset = dataset;
    for (const user of dataset.users) {
      if (user.registered && (user.blocked || !user.providerActive)) this.#inactive.add(user.email);
      if (user.superadmin) this.#superadmins.add(user.email);
    }
    for (const app of dataset.applications.values()) {
      for (const o of app.overrides) {
        this.#overrides.set(JSON.stringify([app.code, o.email, o.resourceType, o.resourceId, o.permission]), o.level);
      }
    }
  }

  answer(question: BenchQuestion): BenchAnswer {
    const held = this.#held(question);
    if (held.level === 0) return { allowed: false, level: 0, source: held.source };
    const enough = !held.compared || held.level >= question.asked;
    return { allowed: enough, level: held.level, source: held.source };
  }

  #held(q: BenchQuestion): Held {
    const nothing: Held = { level: 0, source: DENIED.source, compared: true };
    if (this.#inactive.has(q.email)) return nothing;
    if (this.#superadmins.has(q.email)) return { level: 3, source: 3, compared: true };
    const app = this.#dataset.applications.get(q.app);
    if (!app) return nothing;
    const permission = app.permissions.find((p) => p.code === q.permission);
    if (app.admins.has(q.email)) {
      const tiered = permission?.tiered ?? false;
      return { level: tiered ? 3 : 1, source: 4, compared: tiered };
    }
    if (!permission) return nothing;
    if (q.resourceType !== '' && !permission.global) {
      const key = JSON.stringify([app.code, q.email, q.resourceType, q.resourceId, q.permission]);
      const level = this.#overrides.get(key);
      if (level !== undefined) return { level, source: 2, compared: permission.tiered };
    }
    const best = highestOfRoles(app, q.email, q.permission);
    return best === 0 ? nothing : { level: best, source: 1, compared: permission.tiered };
  }
}

function highestOfRoles(app: BenchApplication, email: string, permission: string): Level {
  let best: Level = 0;
  for (const code of app.assignments.get(email) ?? []) {
    const level = app.roles.find((role) => role.code === code)?.levels.get(permission) ?? 0;
    if (level > best) best = level;
  }
  return best;
}
