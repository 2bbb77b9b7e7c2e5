/** Plans templates: the changes, the removals and the faults, including Liquid syntax. */

import type { TemplatePart } from '../../base/channels.ts';
import { byCodeUnit } from '../../base/order.ts';
import { each, type Sliced, sorted } from '../../base/slices.ts';
import { noteUnknown } from './catalog.ts';
import { type Fault, Faults } from './faults.ts';
import type { Manifest, ManifestTemplate } from './format.ts';
import { Steps } from './steps.ts';

/** What of a template is checked. */
export type TemplateParts = Pick<ManifestTemplate, TemplatePart>;

/** Checks template parts; an interface, so that manifests do not depend on rendering. */
export interface TemplateChecker {
  /** Faults by part: syntax errors and text that cannot be stored. Rejects with UNAVAILABLE. */
  faultsOf(parts: TemplateParts, app: string): Promise<readonly { path: string; message: string }[]>;
}

/** The key of a template. No part can contain a slash. */
export function templateKey({ type, key, locale }: Pick<ManifestTemplate, 'type' | 'key' | 'locale'>): string {
  return `${type}/${key}/${locale}`;
}

/** Templates that are checked at once: each takes a place in the renderer's queue. */
const TOGETHER = 8;

/** Every fault of the manifest's templates themselves, at its place. Needs no database and no transaction. */
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

/** The codes of the planned notification types. `generic` is always one. */
function* typesToBe(
  current: Iterable<string>,
  manifest: Manifest,
  removed: readonly string[],
): Sliced<Map<string, true>> {
  const known = new Map<string, true>([['generic', true]]);
  yield* each(current, (code) => known.set(code, true));
  yield* each(manifest.notificationTypes ?? [], (type) => type !== null && known.set(type.code, true));
  yield* each(removed, (code) => known.delete(code));
  return known;
}

interface TemplateContext {
  manifest: Manifest;
  prune: boolean;
  /** The language registry. */
  languages: ReadonlySet<string>;
  /** The codes of the stored notification types, and of those to remove. */
  types: Iterable<string>;
  removedTypes: readonly string[];
}

/** Compares. With prune, templates that a present section does not name are removed; an absent section changes nothing. */
export function* planTemplates(
  current: ReadonlyMap<string, ManifestTemplate>,
  { manifest, prune, languages, types, removedTypes }: TemplateContext,
  faults: Faults,
): Sliced<Steps<'template'>> {
  const steps = new Steps('template');
  if (manifest.templates === null) return steps;
  const known = yield* typesToBe(types, manifest, removedTypes);
  const named = new Set<string>();
  yield* each(manifest.templates, (template, at) => {
    if (template === null) return;
    const { type, locale } = template;
    if (!known.has(type)) noteUnknown(manifest, 'notificationTypes', type, ['templates', at, 'type'], known, faults);
    if (!languages.has(locale)) faults.add(['templates', at, 'locale'], `${locale} is not in the language registry`);
    const key = templateKey(template);
    named.add(key);
    steps.want(key, current.get(key) ?? null, template);
  });
  if (!prune) return steps;
  yield* each(yield* sorted(current, ([a], [b]) => byCodeUnit(a, b)), ([key, template]) => {
    if (!named.has(key)) steps.remove(key, template);
  });
  return steps;
}
