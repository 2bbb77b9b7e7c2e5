import { expect, test } from '@jest/globals';
import { forEachDatabase } from '../../support/databases.ts';
import { manifestOf, yamlOf } from '../../support/exported.ts';
import { manifestsOf } from './fixture.ts';

/** 10,000 assignments and 10,000 overrides where it counts (`test:long`, the benchmarks); else enough for several pages. */
const PEOPLE = process.env.USHER_LONG ? 10_000 : 1200;

function large(count = PEOPLE): string {
  const people = Array.from({ length: count }, (_, at) => `person-${at}@example.com`);
  const assignments = people.map(
    (email, at) => `  - email: ${email}\n    roles: [${at % 2 ? 'reader' : 'reader, writer'}]\n`,
  );
  const overrides = people.map(
    (email, at) =>
      `  - email: ${email}\n    resourceType: document\n    resourceId: doc-${at % 100}\n    permission: document\n    granted: ${at % 3 > 0}\n`,
  );
  return `application: {code: large, name: Large}
entities: [{code: document, name: Document}]
permissions: [{code: document, type: tiered}]
roles: [{code: reader, permissions: {document: view}}, {code: writer, permissions: {document: edit}}]
assignments:
${assignments.join('')}overrides:
${overrides.join('')}`;
}

forEachDatabase('a large manifest', (fixture) => {
  test('a large manifest is applied in pages with progress, changes nothing the second time, and round-trips', async () => {
    const manifests = manifestsOf(fixture.database);
    const text = large();
    const progress: [number, number][] = [];
    const steps = 5 + 1.5 * PEOPLE + PEOPLE;
    const { plan, revision } = await manifests.apply(text, {
      actor: 'cli',
      onProgress: (done, total) => progress.push([done, total]),
    });
    expect(plan.summary).toEqual({ create: steps, change: 0, remove: 0, keep: 0 });
    expect(progress[0]).toEqual([0, steps]);
    expect(progress.at(-1)).toEqual([steps, steps]);
    expect(progress.map(([done]) => done)).toEqual(progress.map(([done]) => done).toSorted((a, b) => a - b));

    const again = await manifests.apply(text, { actor: 'cli', prune: true });
    expect(again.plan).toMatchObject({ summary: { create: 0, change: 0, remove: 0, keep: steps }, changes: [] });
    expect(again.revision).toBe(revision);

    const most = PEOPLE - 100;
    const some = await manifests.apply(large(most), { actor: 'cli' });
    expect(some.plan).toMatchObject({
      summary: { create: 0, change: 0, remove: 0, keep: 5 + 2.5 * most },
      changes: [],
    });

    const [yaml, manifest] = [await yamlOf(manifests, 'large'), await manifestOf(manifests, 'large')];
    for (const copy of [yaml, JSON.stringify(manifest)]) {
      expect((await manifests.apply(copy, { actor: 'cli', prune: true })).plan.changes).toEqual([]);
    }

    const emptied = await manifests.apply('application: {code: large}\nroles: []\noverrides: []', {
      actor: 'cli',
      prune: true,
    });
    expect(emptied.plan.summary).toEqual({ create: 0, change: 0, remove: 2 + 2.5 * PEOPLE, keep: 1 });
    expect(emptied.plan.assignmentsEnded).toBe(1.5 * PEOPLE);
    expect(await manifestOf(manifests, 'large')).toMatchObject({ roles: [], assignments: [], overrides: [] });
  });
});
