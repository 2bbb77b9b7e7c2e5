import { beforeAll, describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { parse } from 'yaml';
import { UsherError } from '../../../src/base/errors.ts';
import { examine } from '../../../src/catalog/manifest/examine.ts';
import { type ExportedManifest, toYaml } from '../../../src/catalog/manifest/export.ts';
import { readSource } from '../../../src/catalog/manifest/source.ts';
import { forEachDatabase } from '../../support/databases.ts';
import { manifestOf, yamlOf } from '../../support/exported.ts';
import { canonical, manifestArbitrary } from './arbitrary.ts';
import { addLanguages, manifestsOf } from './fixture.ts';

const LONG = process.env.USHER_LONG !== undefined;
// For a test that hangs.
jest.setTimeout(LONG ? 7_200_000 : 300_000);

describe('the text of a manifest', () => {
  test('the text of a manifest reads back unchanged, in YAML and in JSON', async () => {
    await fc.assert(
      fc.asyncProperty(manifestArbitrary('studio'), async (manifest) => {
        const yaml = await toYaml(manifest);
        expect(JSON.parse(JSON.stringify(readSource(yaml).value))).toEqual(manifest);
        // What reads YAML 1.1 finds the same; characters that are line breaks there, or that no reader takes, are written as escapes.
        expect(parse(yaml, { version: '1.1', strict: false })).toEqual(manifest);
        expect(yaml).not.toMatch(/[\u2028\u2029\ufffe\uffff]|: =$/m);
        const read = examine(yaml);
        expect(read.issues).toEqual([]);
        // Only the places differ.
        expect(read).toEqual({ ...examine(JSON.stringify(manifest)), places: read.places });
      }),
      { numRuns: LONG ? 20_000 : 300 },
    );
  });

  // PyYAML ends a plain text at a tab.
  test.each(['a\tb', '\tb', 'a\t', 'a \t# b'])('%j stands in quotes', async (description) => {
    const rest = { entities: [], permissions: [], roles: [], notificationTypes: [], templates: [] };
    const people = { admins: [], assignments: [], overrides: [] };
    const yaml = await toYaml({ application: { code: 'studio', name: 'Studio', description }, ...rest, ...people });
    expect(yaml).toContain(`description: ${JSON.stringify(description)}\n`);
  });
});

/** Refusals that depend on what was there before; everything else would be a mistake of the test. */
const IN_USE = new Set(['TYPE_IN_USE', 'ENTITY_IN_USE', 'VALIDATION_FAILED']);

forEachDatabase('apply and export', (fixture, kind) => {
  beforeAll(() => addLanguages(fixture.database));

  test('export and apply are inverse, from any state to any other', async () => {
    const manifests = manifestsOf(fixture.database);
    const state = async (code: string): Promise<ExportedManifest> => await manifestOf(manifests, code);
    let refused = 0;
    let applied = 0;
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(manifestArbitrary('studio'), { minLength: 1, maxLength: 4 }), async (history) => {
        const code = `studio-${round++}`;
        let expected: ExportedManifest | undefined;
        for (const template of history) {
          const manifest = { ...template, application: { ...template.application, code } };
          try {
            await manifests.apply(JSON.stringify(manifest), { actor: 'cli', prune: true });
            expected = canonical(manifest);
            applied++;
          } catch (error) {
            // What is used may not change its type or go; then everything stays as it was.
            if (!(error instanceof UsherError) || !IN_USE.has(error.reason ?? '') || expected === undefined)
              throw error;
            refused++;
          }
          expect(await state(code)).toEqual(expected);
          const yaml = await yamlOf(manifests, code);
          expect((await manifests.apply(yaml, { actor: 'cli', prune: true })).plan.changes).toEqual([]);
        }
        // In an empty place the export makes the same again.
        const copy = `${code}-copy`;
        const text = JSON.stringify({ ...expected, application: { ...expected?.application, code: copy } });
        await manifests.apply(text, { actor: 'cli' });
        expect({ ...(await state(copy)), application: null }).toEqual({ ...expected, application: null });
      }),
      // Shrinking would take longer than the limit of the test, which then hid what failed: the seed is told.
      { numRuns: LONG ? 300 : kind === 'pglite' ? 12 : 25, endOnFailure: true },
    );
    expect(applied).toBeGreaterThan(refused);
  });
});
