import { type Mutant, mutant } from './mutant.ts';

/** Mistakes by which a write is acknowledged that a failover then takes away (docs/adr/0024-early-release.md). */
export const EARLY_RELEASE: readonly Mutant[] = [
  mutant(
    'a durable commit on any server lets every revision through',
    'persistence/barrier.ts',
    'if (found.has(position)) {',
    'if (found.size >= 0 && position >= 0) {',
    'persistence/barrier',
    'persistence/early-release',
  ),
  mutant(
    'a revision is proven by its number alone',
    'persistence/barrier.ts',
    'where (select c.nonce from policy_change c where c.revision = w.revision) = w.nonce',
    'where exists (select from policy_change c where c.revision = w.revision)',
    'persistence/early-release',
  ),
  mutant(
    'the barrier commits nothing, and so waits for nothing',
    'persistence/barrier.ts',
    "pg_logical_emit_message(true, 'usher'::text, ''::text)",
    "''::text",
    'persistence/early-release',
  ),
  mutant(
    'a connection to a former primary is used again',
    'persistence/barrier.ts',
    'if (found.size < marks.length) lease.discard();',
    '',
    'persistence/early-release',
  ),
  mutant(
    'what has passed last is known by its number alone',
    'persistence/barrier.ts',
    '(mark.number === this.#last?.number && mark.nonce === this.#last.nonce)',
    'mark.number === this.#last?.number',
    'persistence/barrier',
  ),
  mutant(
    'a write is acknowledged without the barrier',
    'persistence/change-log.ts',
    'lasts: !early',
    'lasts: true',
    'persistence/early-release',
  ),
  mutant(
    'a write that changed nothing is acknowledged over a revision that may be lost',
    'persistence/change-log.ts',
    'records !== null || row === undefined || row.wrote',
    'true',
    'persistence/early-release',
  ),
  mutant(
    'a deletion that may be lost is told as NOT_FOUND',
    'persistence/transactions.ts',
    'this.#options.barrier !== undefined && isNotFound(error)',
    'this.#options.barrier === undefined && isNotFound(error)',
    'persistence/early-release',
  ),
  mutant(
    'a lost write leaves what the instance knew',
    'persistence/transactions.ts',
    '    } catch (cause) {\n      this.#follower?.dropAll();',
    '    } catch (cause) {',
    'persistence/early-release',
  ),
  mutant(
    'the lock of the numbering is held until the commit lasts',
    'persistence/change-log.ts',
    "set_config('synchronous_commit', 'off', true)",
    "set_config('synchronous_commit', 'on', true)",
    'persistence/early-release',
  ),
  mutant(
    'closing leaves writes without their barrier',
    'persistence/open.ts',
    '    await transactions.idle();\n',
    '',
    'persistence/early-release',
  ),
];
