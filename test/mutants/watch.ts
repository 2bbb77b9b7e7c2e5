import { type Mutant, mutant } from './mutant.ts';

/** Mistakes in what others are told of changes. */
export const WATCH: readonly Mutant[] = [
  mutant(
    'a message of another stream moves a stream to the newest revision instead of its own end',
    'engine/watch.ts',
    'stream.cursor = batch.end;\n    if (!isNews',
    'stream.cursor = this.#options.tail.head;\n    if (!isNews',
    'engine/watch',
  ),
  mutant(
    'a stream says what is newest although the log cannot be read',
    'engine/watch.ts',
    ' || this.#now() - tail.syncedAt > FRESH_MS',
    '',
    'engine/watch',
  ),
  mutant(
    'a stream begins without a read of the log',
    'engine/watch.ts',
    '      await tail.sync();\n    } catch (error) {\n      stream.end(error);',
    '      await Promise.resolve();\n    } catch (error) {\n      stream.end(error);',
    'engine/watch',
  ),
  mutant(
    'changes of people everywhere are left out for named applications',
    'engine/watch.ts',
    "kind === 'm' ? apps.has(app) : true",
    "kind === 'm' ? apps.has(app) : kind !== 'u'",
    'engine/watch',
  ),
  mutant(
    'a revision of another history is taken for one of this',
    'engine/recent-changes.ts',
    'number === 0 || (nonce !== null && this.nonceAt(number) === nonce)',
    'true',
    'engine/watch',
  ),
  mutant(
    'a missing row of the log does not reset its reader',
    'persistence/facts/history.ts',
    'if (rows.length > 0 && rows[0]?.number !== mark.number + 1) return null;',
    '',
    'watch/history',
  ),
  mutant(
    'a key that is no longer accepted keeps its streams',
    'engine/watch.ts',
    'if (!stream.isAdmitted)',
    'if (stream.isOver)',
    'engine/watch',
  ),
  mutant(
    'a slow reader is kept',
    'engine/watch.ts',
    '!stream.isWaiting && silent > SLOW_MS',
    'silent > Number.POSITIVE_INFINITY',
    'engine/watch',
  ),
  mutant(
    'Watch is let in with a key for checks',
    'app/app.ts',
    "authorize: authorize('watch') }",
    "authorize: authorize('check') }",
    'watch/watch',
  ),
  mutant(
    'Watch over Connect is let in with a key for checks',
    'gateway/connect/connect.ts',
    "entrance: entrance('watch')",
    "entrance: entrance('check')",
    'watch/watch',
  ),
  mutant(
    'a user is told the codes of applications that they are not in',
    'directory/permission-streams.ts',
    'if (superadmin || own.has(app)) concerned.add(app);',
    'concerned.add(app);',
    'watch/permission-stream',
  ),
  mutant(
    'a deactivated user keeps the stream of permissions',
    'directory/permission-streams.ts',
    'if (concern === null) for (const stream of this.#open.of(email)) stream.end();',
    'if (concern === null) continue;',
    'watch/permission-stream',
  ),
];
