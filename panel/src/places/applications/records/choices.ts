/** The overrides of one person on one record as choices, a choice for each permission. */

import { type GrantWindow, windowOf } from '../../../parts/until.ts';

/** Empty: no override. */
export type Choice = '' | 'denied' | 'allowed' | 'view' | 'edit';
export type Choices = Readonly<Record<string, Choice>>;

interface Override {
  readonly granted: boolean;
  readonly accessLevel: 'allowed' | 'view' | 'edit' | null;
}

export function choiceOf({ granted, accessLevel }: Override): Choice {
  return granted && accessLevel !== null ? accessLevel : 'denied';
}

export function choicesOf(overrides: readonly (Override & { readonly code: string })[]): Choices {
  return Object.fromEntries(overrides.map((override) => [override.code, choiceOf(override)]));
}

/** What can be chosen for a permission of a type. */
export function choicesFor(type: 'binary' | 'tiered'): readonly Choice[] {
  return type === 'binary' ? ['', 'denied', 'allowed'] : ['', 'denied', 'view', 'edit'];
}

/** What is written of the window of an override: an absent bound stays as it is, null clears it. */
type WrittenWindow = Readonly<Partial<GrantWindow>>;

/** The body of the write that makes it so, with the windows that are to be written. */
export function permissionsOf(
  choices: Choices,
  windows: Readonly<Record<string, WrittenWindow>> = {},
): ({
  permission: string;
  granted: boolean;
  accessLevel: 'allowed' | 'view' | 'edit' | null;
} & WrittenWindow)[] {
  return Object.entries(choices).flatMap(([permission, choice]) => {
    if (choice === '') return [];
    return [
      {
        permission,
        granted: choice !== 'denied',
        accessLevel: choice === 'denied' ? null : choice,
        ...windows[permission],
      },
    ];
  });
}

/** The windows of overrides, by permission: of those that have one or not, so that a write brings back each as it was. */
export function windowsOf(
  overrides: readonly (Partial<GrantWindow> & { readonly code: string })[],
): Readonly<Record<string, GrantWindow>> {
  return Object.fromEntries(overrides.map((override) => [override.code, windowOf(override)]));
}

/** The permissions whose choice differs. */
export function changesOf(
  before: Choices,
  after: Choices,
  /** Permissions whose override keeps its choice and gets another end. */
  moved: readonly string[] = [],
): { permission: string; from: Choice; to: Choice }[] {
  const permissions = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...permissions].sort().flatMap((permission) => {
    const [from, to] = [before[permission] ?? '', after[permission] ?? ''];
    return from === to && !moved.includes(permission) ? [] : [{ permission, from, to }];
  });
}

/** Wishes in an address, such as `project.access:view,project.archive:`. An empty choice takes the override away. */
export function wishesOf(text: string): Choices {
  const wishes: Record<string, Choice> = {};
  for (const wish of text.split(',')) {
    const [, permission, choice] = /^(.+):(|denied|allowed|view|edit)$/.exec(wish) ?? [];
    if (permission !== undefined) wishes[permission] = choice as Choice;
  }
  return wishes;
}

/** Whether a text is whole enough to ask the service about it. */
export function isAddress(text: string): boolean {
  return /^[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)*\.[^@\s.]{2,}$/.test(text.trim());
}
