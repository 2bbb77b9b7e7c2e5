import { describe, expect, test } from '@jest/globals';
import type { Sliced } from '../../../src/base/slices.ts';
import { type CatalogPlan, planCatalog } from '../../../src/catalog/manifest/catalog.ts';
import { examine } from '../../../src/catalog/manifest/examine.ts';
import { Faults } from '../../../src/catalog/manifest/faults.ts';
import type { Manifest } from '../../../src/catalog/manifest/format.ts';
import { planNotificationTypes } from '../../../src/catalog/manifest/notification-types.ts';
import { planPeople } from '../../../src/catalog/manifest/people.ts';
import type { Catalog, People } from '../../../src/catalog/manifest/state.ts';
import { assignmentKey, overrideKey } from '../../../src/catalog/manifest/state.ts';
import { planTemplates, templateKey } from '../../../src/catalog/manifest/templates.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { manifestsOf } from './fixture.ts';

const COUNT = 2000;
const MANY = Array.from({ length: COUNT }, (_, at) => at);
/** Looks at records between two yields: at fifty of them, field by field. Fewer than a loop over all of them takes. */
const STRETCH = 1900;

/** Counts looks at records: what loops over them without letting others run is seen by that. */
class Looks {
  most = 0;
  #now = 0;

  at<T extends object>(record: T): T {
    return new Proxy(record, {
      get: (target, name, receiver) => {
        this.#now++;
        return Reflect.get(target, name, receiver) as unknown;
      },
    });
  }

  run<R>(work: Sliced<R>): R {
    for (;;) {
      this.#now = 0;
      const { done, value } = work.next();
      this.most = Math.max(this.most, this.#now);
      if (done) return value;
    }
  }
}

/** Manifests that name many records of one section. */
const SECTIONS: Record<string, Record<string, unknown[]>> = {
  entities: { entities: MANY.map((at) => ({ code: `e${at}`, name: `E ${at}` })) },
  permissions: {
    permissions: MANY.map((at) => ({
      code: `p.${at}`,
      type: 'tiered',
      ...(at === 0 ? {} : { parent: `p.${Math.floor(at / 8)}` }),
    })).map((one, at) => (at < 8 ? { code: one.code, type: one.type } : one)),
  },
  roles: { roles: MANY.map((at) => ({ code: `r${at}`, permissions: { 'doc.read': 'view' } })) },
  notificationTypes: { notificationTypes: MANY.map((at) => ({ code: `t${at}`, name: `T ${at}` })) },
  templates: {
    templates: MANY.map((at) => ({ type: 'generic', key: `k${at}`, locale: 'en', subject: 's', html: '<p>h</p>' })),
  },
  admins: { admins: MANY.map((at) => `a${at}@example.com`) },
  assignments: { assignments: MANY.map((at) => ({ email: `a${at}@example.com`, roles: ['reader'] })) },
  overrides: {
    overrides: MANY.map((at) => ({
      email: `a${at}@example.com`,
      permission: 'doc.read',
      resourceType: 'doc',
      resourceId: `${at}`,
      granted: true,
      accessLevel: 'edit',
    })),
  },
};

function manifestWith(section: Record<string, unknown[]>): Manifest {
  const base: Record<string, unknown> = {
    application: { code: 'big', name: 'Big', supportedLanguages: ['en'] },
    permissions: [{ code: 'doc.read', type: 'tiered' }],
    roles: [{ code: 'reader', permissions: { 'doc.read': 'view' } }],
  };
  const beside = Object.fromEntries(
    Object.entries(section).map(([name, records]) => [name, [...((base[name] ?? []) as unknown[]), ...records]]),
  );
  const { manifest, issues } = examine(JSON.stringify({ ...base, ...beside }));
  expect(issues).toEqual([]);
  return manifest as Manifest;
}

const NOTHING: Catalog = {
  application: null,
  entities: new Map(),
  permissions: new Map(),
  roles: new Map(),
  notificationTypes: new Map(),
  templates: new Map(),
};
const NOBODY: People = { admins: new Map(), assignments: new Map(), overrides: new Map() };

/** What is stored once the manifest was applied. */
function stored(manifest: Manifest, looks: Looks): { catalog: Catalog; people: People } {
  const byCode = <T extends { code: string }>(records: readonly (T | null)[] | null) =>
    new Map((records ?? []).flatMap((one) => (one === null ? [] : [[one.code, looks.at(one)] as const])));
  const assignments = (manifest.assignments ?? []).flatMap((one) =>
    (one?.roles ?? []).map((role) => ({ email: one?.email ?? '', ...role })),
  );
  const overrides = (manifest.overrides ?? []).flatMap((one) => (one === null ? [] : [one]));
  return {
    catalog: {
      application: { ...manifest.application, name: 'Big' },
      entities: byCode(manifest.entities),
      permissions: byCode(manifest.permissions),
      roles: byCode(manifest.roles),
      notificationTypes: byCode(manifest.notificationTypes),
      templates: new Map(
        (manifest.templates ?? []).flatMap((one) => (one === null ? [] : [[templateKey(one), looks.at(one)] as const])),
      ),
    },
    people: {
      admins: new Map(
        (manifest.admins ?? []).flatMap((one) => (one === null ? [] : [[one.email, looks.at(one)] as const])),
      ),
      assignments: new Map(assignments.map((one) => [assignmentKey(one), looks.at(one)])),
      overrides: new Map(overrides.map((one) => [overrideKey(one), looks.at(one)])),
    },
  };
}

function counted(manifest: Manifest, looks: Looks): Manifest {
  return Object.fromEntries(
    Object.entries(manifest).map(([name, value]) => {
      if (!Array.isArray(value)) return [name, value];
      return [name, value.map((one: unknown) => (typeof one === 'object' && one !== null ? looks.at(one) : one))];
    }),
  ) as Manifest;
}

describe.each(Object.entries(SECTIONS))('many records of %s', (_name, section) => {
  const EMPTY = { entities: [], notificationTypes: [], templates: [], admins: [], assignments: [], overrides: [] };
  test.each<[string, boolean, Record<string, unknown[]>, boolean]>([
    ['make', false, section, false],
    ['keep', true, section, true],
    ['remove', true, EMPTY, true],
  ])('are planned in slices: %s', (_what, before, wanted, prune) => {
    const looks = new Looks();
    const manifest = counted(manifestWith(wanted), looks);
    const { catalog, people } = before ? stored(manifestWith(section), looks) : { catalog: NOTHING, people: NOBODY };
    const faults = new Faults();
    const given = { manifest, prune, languages: new Set(['en']) };
    const planned: CatalogPlan = looks.run(planCatalog(catalog, given, faults));
    const types = looks.run(planNotificationTypes(catalog.notificationTypes, manifest, prune, faults));
    const known = { types: catalog.notificationTypes.keys(), removedTypes: types.removed };
    const templates = looks.run(planTemplates(catalog.templates, { ...given, ...known }, faults));
    const usage = { ofPermission: new Map(), ofType: new Map() };
    const plan = looks.run(planPeople(people, usage, planned, { ...given, now: new Date() }, faults));
    expect(faults.list).toEqual([]);
    const all = [planned.entities, planned.permissions, planned.roles, types.steps, templates];
    const sums = [...all, plan.admins, plan.assignments, plan.overrides].map(({ counts }) => counts);
    const action = { make: 'create', keep: 'keep', remove: 'remove' }[_what] as 'create' | 'keep' | 'remove';
    const moved = sums.reduce((sum, counts) => sum + counts[action], 0);
    expect(moved).toBeGreaterThanOrEqual(COUNT);
    expect(looks.most).toBeLessThanOrEqual(STRETCH);
  });
});

forEachDatabase('a manifest of many records', (fixture) => {
  test('goes to the database in pieces, and as one change of the application', async () => {
    const manifests = manifestsOf(fixture.database);
    const progress: number[] = [];
    const text = JSON.stringify({
      application: { code: 'pieces', name: 'Pieces' },
      permissions: [{ code: 'doc.read', type: 'tiered' }],
      ...SECTIONS.overrides,
    });
    const { plan } = await manifests.apply(text, { actor: 'cli', onProgress: (done) => progress.push(done) });
    expect(plan.summary.create).toBe(COUNT + 2);
    const pieces = progress.slice(1).map((done, at) => done - (progress[at] ?? 0));
    expect(Math.max(...pieces)).toBeLessThanOrEqual(1000);
    const { rows } = await fixture.database.read((tx) =>
      tx.kysely
        .selectFrom('policy_change')
        .select('scopes')
        .orderBy('revision', 'desc')
        .limit(1)
        .execute()
        .then((rows) => ({ rows })),
    );
    expect(rows[0]?.scopes).toEqual(['a:pieces']);
    const emptied = await manifests.apply('application: {code: pieces, name: Pieces}\noverrides: []', {
      actor: 'cli',
      prune: true,
    });
    expect(emptied.plan.changes.map(({ key }) => key)).toEqual(
      emptied.plan.changes.map(({ key }) => key).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
    );
    expect(emptied.plan.summary.remove).toBe(COUNT);
  });
});
