import { resolve } from 'node:path';
import type { Command } from 'commander';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type GlobalOptions, print } from './io.ts';

interface FileOptions extends GlobalOptions {
  force?: boolean;
}

/** `usher backup FILE`: the embedded database as one file. */
export function defineBackup(program: Command, context: Context): void {
  const command = program
    .command('backup <file>')
    .summary('write the embedded database into a file')
    .description(
      'Writes the embedded database into a file, also while the service runs. A PostgreSQL is backed up by its own tools: docs/operations/backup.md.',
    )
    .option('--force', 'replace the file if it exists')
    .action(async (name: string, _: FileOptions, self: Command) => {
      const { path, options, force, place } = await embeddedPlace(context, name, self);
      const local = await context.io.local();
      const backup = { file: path, force, usher: context.io.version };
      const written = await fileErrors(name, 'written', () => local.backUp(place, backup));
      const text = `${name} holds the database of ${place.dataDir}: ${written.bytes} bytes, SHA-256 ${written.sha256}.`;
      await print(context, options, { file: path, ...written }, text);
    });
  withExamples(command, ['usher backup usher-2026-03-01.backup']);
}

/** `usher restore FILE`: puts it back. */
export function defineRestore(program: Command, context: Context): void {
  const command = program
    .command('restore <file>')
    .summary('put a backup in the place of the embedded database')
    .description(
      'Checks a backup, and puts it in the place of the embedded database. Stop the service first. What is there is kept unless --force is given.',
    )
    .option('--force', 'replace a database that is there')
    .action(async (name: string, _: FileOptions, self: Command) => {
      const { path, options, force, place } = await embeddedPlace(context, name, self);
      const local = await context.io.local();
      const read = await fileErrors(place.dataDir, 'written', () => local.restore(place, { file: path, force }));
      const text = `${place.dataDir} has the database of ${read.createdAt} again, made by Usher ${read.usher}.`;
      await print(context, options, { file: path, ...read }, text);
    });
  withExamples(command, ['usher restore usher-2026-03-01.backup', 'usher restore usher-2026-03-01.backup --force']);
}

async function embeddedPlace({ io }: Context, name: string, self: Command) {
  const options = self.optsWithGlobals<FileOptions>();
  const { placeOf } = await import('./load-config.ts');
  const place = await placeOf(io, options);
  if (place.config.database.url !== null) {
    throw new CommandFailed(
      'This is for the embedded database, and database.url (DATABASE_URL) names a PostgreSQL. Use its own tools: docs/operations/backup.md.',
      { code: 'DATABASE' },
    );
  }
  return { options, path: resolve(io.cwd, name), force: options.force === true, place };
}

/** Tells what the file system refused. */
async function fileErrors<T>(name: string, done: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new CommandFailed(`${name} cannot be ${done} (${code}). Nothing has changed.`);
  }
}
