import { type Mutant, mutant } from './mutant.ts';

/** Grants that begin and end, as the engine and its wire see them. What the simulation notices has mutants of its own (test/engine/model). */
export const BOUNDARIES: readonly Mutant[] = [
  mutant(
    'a boundary is as long as the database says',
    'engine/instants.ts',
    'const DRIFT_MS = 10;',
    'const DRIFT_MS = 0;',
    'engine/boundaries',
  ),
  mutant(
    'facts of several statements are taken for those of one instant',
    'engine/instants.ts',
    'person.statement === statement && (overrides === null || overrides.statement === statement)',
    'person.readAt >= askedAt && (overrides === null || overrides.readAt >= askedAt)',
    'engine/boundaries',
  ),
  mutant(
    'a boundary that passes counts as an attempt',
    'engine/waits.ts',
    'if (!isBoundary && attempt++ >= attempts) {',
    'if (attempt++ >= attempts) {',
    'engine/boundaries',
  ),
  mutant(
    'a batch keeps a decision whose grant has ended',
    'engine/batch.ts',
    'return ends !== null && ends <= instant;',
    'return false;',
    'engine/boundaries',
  ),
  mutant(
    'what ends soon is given away',
    'engine/fact-server.ts',
    'const SOON_MS = 50;',
    'const SOON_MS = 0;',
    'engine/boundaries',
  ),
  mutant(
    'a boundary is given away as if the question had just arrived with the fact',
    'engine/fact-server.ts',
    'Math.max(0, Math.floor(bound.ends - at))',
    'Math.max(0, Math.floor(bound.ends - at + 1000))',
    'engine/boundaries',
  ),
  mutant(
    'a first boundary leaves the decisions that were made without it',
    'engine/instants.ts',
    'return bound === null && ends !== null;',
    'return false;',
    'engine/facts',
  ),
  mutant(
    'an asker who knows of no ends is given what ends',
    'rpc/facts.ts',
    'if (rulesVersion === WITHOUT_TIME && reply.answers.some(isTimed))',
    'if (rulesVersion < WITHOUT_TIME)',
    'edge/edge',
  ),
  mutant(
    'a replica says nothing of grants that have ended',
    'persistence/facts/sql.ts',
    'const IS_TIMED: Boundary = {',
    'const IS_TIMED: Boundary = true ? UNTIL_NEXT : {',
    'persistence/facts-source',
  ),
];
