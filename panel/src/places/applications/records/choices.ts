/** The overrides of one person on one record as choices, a choice for each permission. */

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

/** The body of the write that makes it so. */
export function permissionsOf(choices: Choices): {
  permission: string;
  granted: boolean;
  accessLevel: 'allowed' | 'view' | 'edit' | null;
}[] {
  return Object.entries(choices).flatMap(([permission, choice]) => {
    if (choice === '') return [];
    return [{ permission, granted: choice !== 'denied', accessLevel: choice === 'denied' ? null : choice }];
  });
}

/** The permissions whose choice differs. */
export function changesOf(before: Choices, after: Choices): { permission: string; from: Choice; to: Choice }[] {
  const permissions = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...permissions].sort().flatMap((permission) => {
    const [from, to] = [before[permission] ?? '', after[permission] ?? ''];
    return from === to ? [] : [{ permission, from, to }];
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
