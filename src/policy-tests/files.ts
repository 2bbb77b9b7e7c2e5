/** Files of policy tests (docs/reference/command-line.md#policy-tests): cases, and the manifest that they are run against. */

import { z } from 'zod';
import { atOnce } from '../base/slices.ts';
import { Faults, isMap } from '../catalog/manifest/faults.ts';
import { type Manifest, present } from '../catalog/manifest/format.ts';
import { planNotificationTypes } from '../catalog/manifest/notification-types.ts';
import { parseManifest } from '../catalog/manifest/parse.ts';
import { type ManifestIssue, placed } from '../catalog/manifest/places.ts';
import { fits, withoutExtensions } from '../catalog/manifest/read.ts';
import { readSource } from '../catalog/manifest/source.ts';
import { checkStandalone } from '../catalog/manifest/standalone.ts';
import { planTemplates } from '../catalog/manifest/templates.ts';
import { readCases, type TestFile } from './cases.ts';

/** A file, or the manifest that it names, could not be read: `issues` list its faults. */
export class UnreadableTests extends Error {
  readonly file: string;
  readonly issues: readonly ManifestIssue[];
  constructor(file: string, message: string, issues: readonly ManifestIssue[] = []) {
    super(message);
    this.name = 'UnreadableTests';
    this.file = file;
    this.issues = issues;
  }
}

/** Access to files. `read` rejects with an error whose message states the reason. */
export interface Files {
  read(name: string): Promise<string>;
  /** The name of a file that another one names. */
  relative(from: string, to: string): string;
}

const Frame = z.strictObject({ manifest: z.string().min(1), tests: z.unknown().optional() });

/** Reads a file of tests, or a manifest with tests of its own. Rejects with UnreadableTests. */
export async function readTests(name: string, files: Files): Promise<TestFile> {
  const text = await contentOf(name, files);
  const source = readSource(text);
  const faults = new Faults();
  const { value } = source;
  const refuse = (message: string): never => {
    const issues = placed(text, source.places, [...source.faults, ...faults.list]);
    throw new UnreadableTests(name, message, issues);
  };
  if (source.faults.length > 0 || value === undefined) return refuse('is not valid YAML or JSON');
  if (!isMap(value)) return refuse('must be a map with manifest and tests, or a manifest with tests');
  const isManifest = value.application !== undefined;
  const frame = isManifest ? null : fits(Frame, withoutExtensions(value), [], faults);
  const cases = readCases(value.tests, faults);
  if (faults.list.length > 0) return refuse('has faults');
  if (frame === null) return { name, manifest: await manifestOf(name, text), cases };
  if (!('record' in frame)) return refuse('has faults');
  const manifestName = files.relative(name, frame.record.manifest);
  return { name, manifest: await manifestOf(manifestName, await contentOf(manifestName, files)), cases };
}

/** Refused of new overrides alone: an export holds those that became dormant, or whose type the catalog no longer lists. */
const OF_NEW_OVERRIDES: readonly (string | undefined)[] = ['GLOBAL_PERMISSION', 'UNKNOWN_RESOURCE_TYPE'];

/** The manifest of `text`. Rejects with the faults that applying it would find, but for those of Liquid and of stored records. */
export async function manifestOf(name: string, text: string): Promise<Manifest> {
  const { manifest, issues, places } = await parseManifest(text);
  if (manifest === null || issues.length > 0) throw new UnreadableTests(name, 'has faults', issues);
  const faults = new Faults();
  checkStandalone(manifest, faults);
  const { removed } = atOnce(planNotificationTypes(new Map(), manifest, false, faults));
  const languages = new Set(present(manifest.templates).map(({ locale }) => locale));
  const given = { manifest, prune: false, languages, types: new Set<string>(), removedTypes: removed };
  atOnce(planTemplates(new Map(), given, faults));
  const refused = faults.list.filter(({ code }) => !OF_NEW_OVERRIDES.includes(code));
  if (refused.length > 0) throw new UnreadableTests(name, 'has faults', placed(text, places, refused));
  return manifest;
}

async function contentOf(name: string, files: Files): Promise<string> {
  try {
    return await files.read(name);
  } catch (error) {
    throw new UnreadableTests(name, error instanceof Error ? error.message : String(error));
  }
}
