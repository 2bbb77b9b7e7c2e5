/** Who did what a record of the audit tells. */

import type { Text } from '../words/places.ts';

/** Who did it: an address, or the name of a key, or none of these. */
export function actorOf(actor: string): { kind: 'user' | 'key' | 'idp' | 'cli' | 'system'; name: string } {
  const [, kind, name] = /^(user|key):(.*)$/s.exec(actor) ?? [];
  if (kind !== undefined && name !== undefined) return { kind: kind as 'user' | 'key', name };
  return { kind: actor === 'idp' || actor === 'cli' ? actor : 'system', name: actor };
}

/** The same in words: an address, or a key, the identity provider, the command line, Usher itself. */
export function actorName(actor: string, { activity: words }: Text): string {
  const { kind, name } = actorOf(actor);
  if (kind === 'user') return name;
  return kind === 'key' ? `${words.actors.key} ${name}` : words.actors[kind];
}
