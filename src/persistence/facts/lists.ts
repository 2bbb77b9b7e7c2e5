import {
  type Level,
  type ListSource,
  MAX_LOG_ROWS,
  type Named,
  type ResourcesQuestion,
  type ResourcesRead,
  type Snapshot,
  type SubjectRow,
} from '../../engine/types.ts';
import type { Database, Tx } from '../database.ts';
import { Prepared } from '../driver/prepared.ts';
import { IN_ORDER_SQL, REACHED_BY_SQL, RESOURCES_SQL, SUBJECTS_SQL } from './lists-sql.ts';
import { type HeadTuple, readNewest } from './rows.ts';
import { policyIn } from './source.ts';

interface SnapshotRow {
  head: HeadTuple;
  nonces: (string | null)[];
}

interface NamedRow extends SnapshotRow {
  appId: number | null;
  permission: [id: number, tiered: boolean, global: boolean] | null;
  held: [roleId: number, level: Level][] | null;
  unknownType: boolean;
}

interface SubjectsRow extends NamedRow {
  until: number | null;
  subjects: SubjectTuple[] | null;
}

type SubjectTuple = [
  id: number,
  email: string,
  superadmin: boolean,
  admin: boolean,
  override: Level | null,
  roleIds: number[] | null,
];

interface ReachedByRow extends NamedRow {
  personId: number | null;
  active: boolean;
  superadmin: boolean;
  admin: boolean;
  roles: number[] | null;
  boundary: number | null;
  changed: boolean;
}

const SUBJECTS = new Prepared<SubjectsRow>('list_subjects', SUBJECTS_SQL);
const REACHED_BY = new Prepared<ReachedByRow>('list_reached_by', REACHED_BY_SQL);
const RESOURCES = new Prepared<{ resource: string }>('list_resources', RESOURCES_SQL);

const IN_ORDER = new Prepared<never>('in_index_order', IN_ORDER_SQL);

/** The lists, each page in a transaction of its own: on the connections of everything else, so that they hold up no check. */
export function listSource(database: Pick<Database, 'read'>): ListSource {
  return {
    subjects: (question, { limit, after, revisions }) =>
      database.read(async (tx) => {
        const { app, permission, resourceType, resourceId, level } = question;
        await IN_ORDER.rows(tx);
        const row = await SUBJECTS.row(tx, app, permission, resourceType, resourceId, level, after, limit, revisions);
        const named = await namedOf(tx, row, app);
        return { ...snapshotOf(row), ...named, rows: (row.subjects ?? []).map(subjectOf), until: row.until };
      }),
    resources: (question, { limit, place, revisions, since }, listed) =>
      database.read(async (tx) => {
        const { email, app, permission, resourceType } = question;
        await IN_ORDER.rows(tx);
        const log = [revisions, since, scopesOf(question), MAX_LOG_ROWS];
        const row = await REACHED_BY.row(tx, app, permission, resourceType, email, ...log);
        const { personId: person, active, superadmin, admin, roles, boundary, changed } = row;
        const named = await namedOf(tx, row, app);
        const facts: Omit<ResourcesRead, 'resourceIds'> = {
          ...snapshotOf(row),
          ...named,
          person: { email, active, superadmin },
          member: { admin, roleIds: roles ?? [] },
          boundary,
          changed,
        };
        const levels = listed(facts);
        if (levels.length === 0 || person === null || named.permission === null) return { ...facts, resourceIds: [] };
        const of = [person, named.appId, resourceType, named.permission.id, levels];
        const rows = await RESOURCES.rows(tx, ...of, place.from, place.skip, limit);
        return { ...facts, resourceIds: rows.map((found) => found.resource) };
      }),
  };
}

/** Whatever may change what the person holds in the application. */
function scopesOf({ email, app }: ResourcesQuestion): string[] {
  return ['*', `a:${app}`, `p:${app}`, `u:${email}`, `m:${app}:${email}`];
}

function snapshotOf({ head, nonces }: SnapshotRow): Snapshot {
  return { head: readNewest(head), nonces };
}

async function namedOf(tx: Tx, row: NamedRow, app: string): Promise<Named> {
  const { appId, permission, held, unknownType } = row;
  const isUnknown = appId !== null && (permission === null || unknownType);
  return {
    appId,
    permission: permission && { id: permission[0], tiered: permission[1], global: permission[2] },
    levels: held ?? [],
    policy: isUnknown ? await policyIn(tx, app) : null,
  };
}

function subjectOf([id, email, superadmin, admin, override, roleIds]: SubjectTuple): SubjectRow {
  return {
    id,
    person: { email, active: true, superadmin },
    member: { admin, roleIds: roleIds ?? [] },
    override,
  };
}
