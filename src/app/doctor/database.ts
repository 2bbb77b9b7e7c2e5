import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { usherCommand } from '../../base/command.ts';
import type { Config } from '../../config/config.ts';
import { inspectServer, type ServerFacts } from '../../persistence/operations/inspect.ts';
import type { Findings } from './finding.ts';

const OLDEST_VERSION = 14;
/** Connections of a process beside its pool: facts, LISTEN, and one to migrate. */
const BESIDE_POOL = 8;
const SKEW_MS = 2000;
const MIB = 1024 * 1024;
const LITTLE_MIB = 1024;
const NOTHING_MIB = 128;

export async function checkDatabase(config: Config, to: Findings): Promise<void> {
  const { url, directUrl } = config.database;
  if (url === null) {
    await checkDisk(config, to);
    return;
  }
  const server = await reach(url, 'database.url (DATABASE_URL)', to);
  if (server === null) return;
  checkServer(config, server, to);
  checkMigrations(config, server, to);
  const direct = directUrl === null ? null : await reach(directUrl, 'database.directUrl (DATABASE_DIRECT_URL)', to);
  checkPooler(server, { direct, isGiven: directUrl !== null }, to);
}

async function reach(url: string, key: string, to: Findings): Promise<ServerFacts | null> {
  try {
    return await inspectServer(url, Date.now);
  } catch (error) {
    to.fail((error as Error).message, `Mend that, or set ${key}.`);
    return null;
  }
}

function checkServer({ database, grpc }: Config, server: ServerFacts, to: Findings): void {
  const { version, role, superuser, standby, maxConnections, extensions, skewMs, skewWithinMs } = server;
  const major = Math.floor(version / 10_000);
  if (major < OLDEST_VERSION) to.fail(`PostgreSQL ${major}`, `Upgrade the server to ${OLDEST_VERSION} or newer.`);
  else
    to.ok(`PostgreSQL ${major}.${version % 10_000}, extensions ${extensions.join(', ') || 'none'}; Usher needs none`);
  if (superuser) to.warn(`the role ${role} is a superuser`, 'Give Usher a role that only owns its database.');
  else to.ok(`the role is ${role}`);
  if (standby) {
    to.warn('the server is a standby: questions are answered, writes are refused', 'Lead database.url to the primary.');
  }
  checkSettings(server, to);
  const needed = (database.poolSize + BESIDE_POOL) * grpc.processes;
  if (server.pooler === null && needed > maxConnections) {
    to.warn(
      `one Usher may hold ${needed} connections, and the server allows ${maxConnections} in all`,
      'Lower database.poolSize, raise max_connections, or put a pooler in between.',
    );
  }
  if (Math.abs(skewMs) - skewWithinMs > SKEW_MS) {
    to.warn(
      `the clock of the database differs from this one by ${Math.round(skewMs / 1000)} s`,
      'Synchronize both machines (NTP): times in the audit and in links are of either.',
    );
  } else to.ok('its clock agrees with this one');
}

/** Harmless to Usher, and a reason why psql and reports beside it show something else. */
function checkSettings({ otherSettings }: ServerFacts, to: Findings): void {
  if (otherSettings.length === 0) to.ok('its session settings are those that Usher sets');
  else to.ok(`Usher sets its own in place of the defaults here: ${otherSettings.join(', ')}`);
}

function checkMigrations({ database }: Config, { pending, unknown, mayCreate }: ServerFacts, to: Findings): void {
  if (unknown.length > 0) {
    to.fail(`a newer Usher has migrated it (${unknown.join(', ')})`, 'Start the newer version.');
  } else if (pending.length === 0) to.ok('every migration is applied');
  else if (!database.migrateOnStart) {
    to.fail(`${pending.length} migrations are pending`, `Run \`${usherCommand('migrate')}\` before the start.`);
  } else if (!mayCreate) {
    to.fail(`${pending.length} migrations are pending, and the role may not create tables`, 'Make it the owner.');
  } else to.ok(`${pending.length} migrations are pending; the next start applies them`);
}

interface Direct {
  readonly direct: ServerFacts | null;
  readonly isGiven: boolean;
}

function checkPooler({ pooler }: ServerFacts, { direct, isGiven }: Direct, to: Findings): void {
  if (direct !== null && direct.pooler === 'transaction') {
    to.fail(
      'database.directUrl leads to a pooler in transaction mode, which cannot LISTEN',
      'Name the server itself there.',
    );
  }
  if (pooler === null) to.ok('no pooler in between');
  else if (pooler === 'transaction' && !isGiven) {
    to.warn(
      'a pooler in transaction mode stands in between, and nothing leads past it: changes are seen late',
      'Set database.directUrl (DATABASE_DIRECT_URL) to the server itself.',
    );
  } else to.ok(`a pooler in ${pooler} mode stands in between`);
}

/** Of the embedded database, which is one process's alone: it is not opened here. */
async function checkDisk({ dataDir }: Config, to: Findings): Promise<void> {
  to.ok('the embedded database, which is not opened here: it may belong to a running service');
  const { bavail, bsize } = await statfs(dataDir).catch(() => statfs(dirname(dataDir)));
  const free = Math.floor((bavail * bsize) / MIB);
  const advice = 'Free some space, or move dataDir (DATA_DIR).';
  if (free < NOTHING_MIB) to.fail(`${free} MiB are free on its disk`, advice);
  else if (free < LITTLE_MIB) to.warn(`${free} MiB are free on its disk`, advice);
  else to.ok(`${Math.floor(free / 1024)} GiB are free on its disk`);
}
