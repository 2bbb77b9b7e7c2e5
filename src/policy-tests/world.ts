/** A manifest as the engine's facts: the content of an empty database after applying it. */

import { LEVELS } from '../base/level-names.ts';
import { type Manifest, present, type Window } from '../catalog/manifest/format.ts';
import { DENIED, evaluate } from '../engine/evaluate.ts';
import { type Explanation, explainMalformed, explainRows } from '../engine/explanation.ts';
import { compilePolicy, type Policy } from '../engine/policy.ts';
import { readQuestion } from '../engine/question.ts';
import { type Decision, type GroundRows, Level, type PolicyRows, type Question, UNBOUNDED } from '../engine/types.ts';
import { UnknownCodes } from '../engine/unknown-codes.ts';

/** The question of a case. */
export interface CaseQuestion {
  readonly email: string;
  readonly permission: string;
  readonly resource?: string | undefined;
}

/** A person in the manifest: their roles and overrides. */
interface Person {
  readonly admin: boolean;
  readonly roleIds: readonly number[];
  /** By resource type and id, then permission. */
  readonly overrides: ReadonlyMap<string, ReadonlyMap<number, Level>>;
}

const NOBODY: Person = { admin: false, roleIds: [], overrides: new Map() };
const APP_ID = 1;
const CLOCK = { monotonic: () => performance.now() };
const SILENT = { warn: () => undefined };

/** Decides by the engine's rules. Nobody is a SuperAdmin or inactive, because a manifest cannot state either. */
export class World {
  readonly app: string;
  readonly #rows: PolicyRows;
  readonly #policy: Policy;
  readonly #roleCodes: readonly string[];
  readonly #people: ReadonlyMap<string, Person>;
  readonly #unknownCodes = new UnknownCodes(CLOCK, SILENT);

  constructor(manifest: Manifest) {
    this.app = manifest.application.code;
    const permissions = present(manifest.permissions);
    const roles = present(manifest.roles);
    const permissionIds = new Map(permissions.map(({ code }, index) => [code, index + 1]));
    const roleIds = new Map(roles.map(({ code }, index) => [code, index + 1]));
    this.#roleCodes = roles.map(({ code }) => code);
    this.#rows = {
      app: this.app,
      appId: APP_ID,
      strictCodes: manifest.application.strictCodes,
      resourceTypes: present(manifest.entities).map(({ code }) => code),
      permissions: permissions.map(({ code, type, global, groupName }, index) => {
        return { id: index + 1, code, tiered: type === 'tiered', global, groupName };
      }),
      rolePermissions: roles.flatMap(({ permissions: given }, index) =>
        [...given].flatMap(([code, level]) => {
          const permissionId = permissionIds.get(code);
          return permissionId === undefined ? [] : [{ roleId: index + 1, permissionId, level: LEVELS[level] }];
        }),
      ),
    };
    this.#policy = compilePolicy(this.#rows);
    this.#people = peopleOf(manifest, permissionIds, roleIds, this.#policy);
  }

  /** The decision of the service. Throws VALIDATION_FAILED for a malformed question, UNKNOWN_CODE where the manifest is strict. */
  decide(source: CaseQuestion): Decision {
    const question = this.#question(source);
    if (question === null) return DENIED;
    const person = this.#person(question);
    this.#unknownCodes.checkType(this.#policy, question.resourceType);
    const permission = this.#unknownCodes.permission(this.#policy, question.permission);
    const overrides =
      question.resourceType === '' ? null : (person.overrides.get(resourceKey(question)) ?? new Map<number, Level>());
    return evaluate({ active: true, superadmin: false }, person, permission, overrides);
  }

  /** The six rules of the same question. */
  explain(source: CaseQuestion): Explanation {
    const question = this.#question(source);
    if (question === null) return explainMalformed({ user: false, application: true, permission: false });
    return explainRows(this.#grounds(question), question.permission);
  }

  /** The codes of the person's roles that grant the permission. */
  rolesGiving({ email, permission: code }: CaseQuestion): string[] {
    const permission = this.#policy.permissions.get(code);
    const { roleIds } = this.#people.get(email.trim().toLowerCase()) ?? NOBODY;
    return roleIds.filter((id) => permission?.levels.has(id)).flatMap((id) => this.#roleCodes[id - 1] ?? []);
  }

  #question({ email, permission, resource = '' }: CaseQuestion): Question | null {
    const at = resource.indexOf(':');
    return readQuestion({
      email,
      app: this.app,
      permission,
      resourceType: resource.slice(0, Math.max(at, 0)),
      resourceId: resource.slice(at + 1),
    });
  }

  #person({ email }: Question): Person {
    return this.#people.get(email) ?? NOBODY;
  }

  #grounds(question: Question): GroundRows {
    const { email, resourceType, resourceId } = question;
    const { admin, roleIds, overrides } = this.#person(question);
    const levels = [...(overrides.get(resourceKey(question)) ?? [])].map(([permissionId, level]) => ({
      permissionId,
      level,
    }));
    return {
      answer: {
        person: { email, active: true, superadmin: false },
        member: { app: this.app, email, appId: APP_ID, admin, roleIds },
        overrides: resourceType === '' ? null : { app: this.app, email, resourceType, resourceId, levels },
        boundaries: UNBOUNDED,
      },
      userKnown: this.#people.has(email),
      policy: this.#rows,
      roles: roleIds.map((id) => ({ id, code: this.#roleCodes[id - 1] ?? '' })),
    };
  }
}

/** Whether a grant of the manifest counts at this moment. */
function counts({ startsAt, endsAt }: Window): boolean {
  const now = Date.now();
  return (startsAt === null || Date.parse(startsAt) <= now) && (endsAt === null || Date.parse(endsAt) > now);
}

function peopleOf(
  manifest: Manifest,
  permissionIds: ReadonlyMap<string, number>,
  roleIds: ReadonlyMap<string, number>,
  policy: Policy,
): Map<string, Person> {
  const people = new Map<string, { admin: boolean; roleIds: number[]; overrides: Map<string, Map<number, Level>> }>();
  const personOf = (email: string) => {
    const person = people.get(email) ?? { admin: false, roleIds: [], overrides: new Map<string, Map<number, Level>>() };
    people.set(email, person);
    return person;
  };
  for (const admin of present(manifest.admins)) if (counts(admin)) personOf(admin.email).admin = true;
  for (const { email, roles } of present(manifest.assignments)) {
    personOf(email).roleIds.push(...roles.filter(counts).flatMap(({ role }) => roleIds.get(role) ?? []));
  }
  for (const override of present(manifest.overrides).filter(counts)) {
    const id = permissionIds.get(override.permission);
    if (id === undefined) continue;
    const highest = policy.permissions.get(override.permission)?.tiered === true ? Level.EDIT : Level.ALLOWED;
    const granted = override.accessLevel === null ? highest : LEVELS[override.accessLevel];
    const level = override.granted ? granted : Level.NONE;
    const { overrides } = personOf(override.email);
    const levels = overrides.get(resourceKey(override)) ?? new Map<number, Level>();
    overrides.set(resourceKey(override), levels.set(id, level));
  }
  return people;
}

function resourceKey({ resourceType, resourceId }: { resourceType: string; resourceId: string }): string {
  return `${resourceType}:${resourceId}`;
}
