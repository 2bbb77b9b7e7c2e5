/** How `usher backup` asks the process that has the embedded database open (docs/operations/backup.md#the-embedded-database). */

import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { holdDirectory } from '../driver/data-dir-lock.ts';
import { Refused } from '../driver/refused.ts';
import { type BackupOptions, backUp, copyBackup, Description } from './backup.ts';

/** The name of a request; its first group is the id. */
export const REQUEST = /^([0-9a-f-]{36})\.request$/;
/** A process that serves takes a request at once. */
const TAKEN_MS = 5000;
const LOOK_MS = 50;
/** How often it is looked whether the service is still there: one that was killed leaves its folder. */
const ALIVE_MS = 1000;

const Answer = z.union([z.object({ described: Description }), z.object({ problem: z.string() })]);

/** The folder of requests; there while a service serves them. */
export function requestsIn(dataDir: string): string {
  return join(dataDir, 'backup-requests');
}

/** Where the service writes the backup for a request. */
export function takenPath(dataDir: string, id: string): string {
  return join(requestsIn(dataDir), `${id}.backup`);
}

export function answerPath(dataDir: string, id: string): string {
  return join(requestsIn(dataDir), `${id}.answer`);
}

/**
 * Has the running service make a backup, and puts it at `file`, whole or not at all. Null where no service takes requests. Rejects
 * with Refused when it failed or ended meanwhile.
 */
async function backUpByRunning(dataDir: string, file: string): Promise<Description | null> {
  const requests = requestsIn(dataDir);
  if (!existsSync(requests)) return null;
  const id = randomUUID();
  const request = join(requests, `${id}.request`);
  const [made, answer] = [takenPath(dataDir, id), answerPath(dataDir, id)];
  try {
    writeFileSync(`${request}.part`, '', { mode: 0o600 });
    renameSync(`${request}.part`, request);
    for (let waited = 0; existsSync(request); waited += LOOK_MS) {
      if (waited >= TAKEN_MS) return null;
      await setTimeout(LOOK_MS);
    }
    // The folder goes with the service.
    for (let waited = 0; !existsSync(answer); waited += LOOK_MS) {
      const isGone = !existsSync(requests) || (waited % ALIVE_MS === 0 && isFree(dataDir));
      if (isGone && !existsSync(answer)) throw new Refused('The service ended before the backup was made.');
      await setTimeout(LOOK_MS);
    }
    const told = Answer.parse(JSON.parse(readFileSync(answer, 'utf8')));
    if ('problem' in told) throw new Refused(`The service that runs could not make it: ${told.problem}`);
    await copyBackup(made, file);
    return told.described;
  } finally {
    for (const one of [request, made, answer]) rmSync(one, { force: true });
  }
}

/** Whether nobody has the database open. */
function isFree(dataDir: string): boolean {
  try {
    holdDirectory(dataDir).release();
    return true;
  } catch (error) {
    if (error instanceof Refused) return false;
    throw error;
  }
}

/** Writes a backup, by the service that runs where one does. As `backUp`. */
export async function backUpAnyway(options: BackupOptions & { usher: string }): Promise<Description> {
  const { dataDir, file, force } = options;
  try {
    return await backUp(options);
  } catch (error) {
    if (!(error instanceof Refused) || (existsSync(file) && !force)) throw error;
    const described = await backUpByRunning(dataDir, file);
    if (described === null) throw error;
    return described;
  }
}
