/** Templates in the plan: what is wanted, what goes, what speaks against it; and whether they are Liquid. */

import { noteUnknown } from './catalog.ts';
import { Faults } from './fields.ts';
import { byCode, type Fault, type Manifest, type ManifestTemplate } from './format.ts';
import { Steps } from './steps.ts';

/** What of a template is checked. */
export type TemplateParts = Pick<ManifestTemplate, 'subject' | 'html' | 'text' | 'pushTitle' | 'pushBody' | 'url'>;

/** Who knows what a template may hold: the room of manifests does not know how one is rendered. */
export interface TemplateChecker {
  /** What does not parse or may not be stored, by part; empty when all is well. Rejects with UNAVAILABLE. */
  faultsOf(parts: TemplateParts, app: string): Promise<readonly { path: string; message: string }[]>;
}

/** What makes a template one. No part can hold a slash. */
export function templateKey({ type, key, locale }: Pick<ManifestTemplate, 'type' | 'key' | 'locale'>): string {
  return `${type}/${key}/${locale}`;
}

/** Templates that are looked at together: each takes a place in the renderer's queue. */
const TOGETHER = 8;

/** Every fault of the manifest's templates themselves, at its place. Asks nothing of the database, and runs in no transaction. */
export async function checkTemplates(
  { application, templates }: Manifest,
  checker: TemplateChecker,
  signal: AbortSignal | undefined,
): Promise<Fault[]> {
  const found: Fault[] = [];
  const rows = templates ?? [];
  for (let from = 0; from < rows.length && found.length < Faults.BOUND; from += TOGETHER) {
    signal?.throwIfAborted();
    const faults = await Promise.all(
      rows
        .slice(from, from + TOGETHER)
        .map(async (template) => template && (await checker.faultsOf(template, application.code))),
    );
    faults.forEach((some, at) => {
      for (const { path, message } of some ?? []) found.push({ path: ['templates', from + at, path], message });
    });
  }
  return found;
}

/** The codes of the notification types that there will be. `generic` is never missing. */
function typesToBe(current: ReadonlySet<string>, manifest: Manifest, removed: readonly string[]): Map<string, true> {
  const named = (manifest.notificationTypes ?? []).flatMap((type) => (type === null ? [] : [type.code]));
  const gone = new Set(removed);
  return new Map(['generic', ...current, ...named].filter((code) => !gone.has(code)).map((code) => [code, true]));
}

export interface TemplateGround {
  manifest: Manifest;
  prune: boolean;
  /** The language registry. */
  languages: ReadonlySet<string>;
  /** The notification types that there are, and those of them that go. */
  types: ReadonlySet<string>;
  removedTypes: readonly string[];
}

/** Compares. With prune what a present section does not name goes; without the section nothing is looked at. */
export function planTemplates(
  current: ReadonlyMap<string, ManifestTemplate>,
  { manifest, prune, languages, types, removedTypes }: TemplateGround,
  faults: Faults,
): Steps<'template'> {
  const steps = new Steps('template');
  if (manifest.templates === null) return steps;
  const known = typesToBe(types, manifest, removedTypes);
  const named = new Set<string>();
  manifest.templates.forEach((template, at) => {
    if (template === null) return;
    const { type, locale } = template;
    if (!known.has(type)) noteUnknown(manifest, 'notificationTypes', type, ['templates', at, 'type'], known, faults);
    if (!languages.has(locale)) faults.add(['templates', at, 'locale'], `${locale} is not in the language registry`);
    const key = templateKey(template);
    named.add(key);
    steps.want(key, current.get(key) ?? null, template);
  });
  if (!prune) return steps;
  for (const [key, template] of [...current].sort(([a], [b]) => byCode(a, b))) {
    if (!named.has(key)) steps.remove(key, template);
  }
  return steps;
}
