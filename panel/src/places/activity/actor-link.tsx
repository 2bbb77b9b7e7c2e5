import { Link } from 'wouter';
import { actorName, actorOf } from '../../parts/actor.ts';
import { useWords } from '../../words/words.ts';
import { personPath } from '../people/address.ts';

/** Who did it, with a link to the page of a person. */
export function Actor({ actor }: { actor: string }) {
  const words = useWords();
  const { kind, name } = actorOf(actor);
  return kind === 'user' ? <Link href={personPath(name)}>{name}</Link> : <span>{actorName(actor, words)}</span>;
}
