/** The instructions of a Dockerfile, read strictly: whatever this does not know is refused, so that no step is passed over. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dirname, '../image/Dockerfile');

export interface Instruction {
  readonly name: string;
  readonly rest: string;
}

export interface Stage {
  readonly from: string;
  readonly name: string;
  readonly instructions: readonly Instruction[];
}

export interface Copy {
  /** The stage that it copies from; null for the context. */
  readonly from: string | null;
  readonly sources: readonly string[];
  readonly target: string;
}

const KNOWN = new Set(['RUN', 'COPY', 'WORKDIR', 'ENV', 'USER', 'EXPOSE', 'ENTRYPOINT', 'CMD', 'HEALTHCHECK']);

/** The stages of a Dockerfile whose arguments have defaults. */
export function stagesOf(text: string): Stage[] {
  const args = new Map<string, string>();
  const stages: { from: string; name: string; instructions: Instruction[] }[] = [];
  for (const line of text.split('\n').filter((each) => each.trim() !== '' && !each.startsWith('#'))) {
    const [, name = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (name === 'ARG') {
      const [key = '', value = ''] = rest.split('=');
      args.set(key, value);
    } else if (name === 'FROM') {
      const filled = rest.replace(/\$\{(\w+)\}/g, (_, arg: string) => args.get(arg) ?? '');
      const [, from = '', as = ''] = /^(\S+)(?: AS (\S+))?$/.exec(filled) ?? [];
      stages.push({ from, name: as, instructions: [] });
    } else if (KNOWN.has(name) && stages.length > 0) {
      stages.at(-1)?.instructions.push({ name, rest });
    } else {
      throw new Error(`not known in a Dockerfile here: ${line}`);
    }
  }
  return stages;
}

export function copyOf(rest: string): Copy {
  const [, from = null, paths = ''] = /^(?:--from=(\S+) )?([^-].*)$/.exec(rest) ?? [];
  const words = paths.split(' ');
  return { from, sources: words.slice(0, -1), target: words.at(-1) ?? '' };
}

/** The values that an ENV sets. */
export function environmentOf(rest: string): Record<string, string> {
  return Object.fromEntries(rest.split(' ').map((pair) => pair.split('=') as [string, string]));
}

/** The words of an instruction in the form that no shell reads. */
export function wordsOf(rest: string): string[] {
  return JSON.parse(rest.slice(rest.indexOf('['))) as string[];
}

/** The stages of the image. */
export function imageStages(): Stage[] {
  return stagesOf(readFileSync(FILE, 'utf8'));
}

/** What the image sets. */
export function imageEnvironment(): Record<string, string> {
  const set = imageStages()
    .at(-1)
    ?.instructions.filter(({ name }) => name === 'ENV')
    .map(({ rest }) => environmentOf(rest));
  return Object.assign({}, ...(set ?? [])) as Record<string, string>;
}
