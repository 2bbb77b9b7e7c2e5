import { type Mutant, mutant } from './mutant.ts';

/** Mistakes in what is made of facts that a replica read. The model has more of them. */
export const REPLICAS: readonly Mutant[] = [
  mutant(
    'a replica of another history is used',
    'engine/replica.ts',
    "return recent.nonceAt(head) === headNonce ? 'behind' : 'other-history';",
    "return recent.nonceAt(head) === null ? 'other-history' : 'behind';",
    'engine/replica',
  ),
  mutant(
    'a replica that is ahead is used',
    'engine/replica.ts',
    "if (head > cursor) return 'ahead';",
    "if (head > cursor + 1) return 'ahead';",
    'engine/replica',
  ),
  mutant(
    'a person who has changed since is taken from a replica',
    'engine/replica.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source that is searched for
    "changed.has('*') || changed.has(`u:${person.email}`)",
    "changed.has('*')",
    'engine/replica',
  ),
  mutant(
    'a member of an application that was made anew is taken from before',
    'engine/replica.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source that is searched for
    'return changed.has(`p:${app}`) && !this.isSameApp(app, appId);',
    'return appId === -1;',
    'engine/replica',
  ),
  mutant(
    'facts keep the revision that a replica has got to',
    'engine/replica.ts',
    'return { revision: cursor, readAt: provenAt };',
    'return { revision: Math.min(cursor, _head), readAt: provenAt };',
    'engine/replica',
  ),
  mutant(
    'facts count as read when a replica was asked',
    'engine/replica.ts',
    'return { revision: cursor, readAt: provenAt };',
    'return { revision: cursor, readAt: Math.max(provenAt, this.#options.clock.monotonic()) };',
    'engine/replica',
  ),
  mutant(
    'a log from before everything was forgotten proves',
    'engine/follower.ts',
    'this.#provenAt = Number.NEGATIVE_INFINITY;\n    facts.clear();',
    'facts.clear();',
    'engine/replica',
  ),
  mutant(
    'a replica that fails is asked again by each load',
    'engine/replica.ts',
    'counters.paused = why;',
    '',
    'engine/replica',
  ),
  mutant(
    'a replica that hangs is waited for',
    'engine/replica.ts',
    'const ANSWER_MS = 250;',
    'const ANSWER_MS = 2500;',
    'engine/replica',
  ),
];
