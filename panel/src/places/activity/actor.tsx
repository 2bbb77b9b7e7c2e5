import { Link } from 'wouter';
import type { Text } from '../../words/places.ts';
import { useWords } from '../../words/words.ts';
import { personPath } from '../people/address.ts';
import { actorOf } from './changes.ts';
import css from './timeline.module.css';

/** Who did it, in words: an address, or a key, the identity provider, the command line, Usher itself. */
export function actorName(actor: string, { activity: words }: Text): string {
  const { kind, name } = actorOf(actor);
  if (kind === 'user') return name;
  return kind === 'key' ? `${words.actors.key} ${name}` : words.actors[kind];
}

/** The same, with a link to the page of a person. */
export function Actor({ actor }: { actor: string }) {
  const words = useWords();
  const { kind, name } = actorOf(actor);
  if (kind === 'user') return <Link href={personPath(name)}>{name}</Link>;
  return <span className={css.soft}>{actorName(actor, words)}</span>;
}
