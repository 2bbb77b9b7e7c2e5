import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kind } from '../support/databases.ts';
import { createDatabase, prepareTemplate } from '../support/postgres.ts';
import { startPostgres } from '../support/postgres-server.ts';

/** A small file system of its own with a database on it. Mounting takes root. */
export interface SmallDisk {
  /** For `startUsher`. */
  readonly url: string | null;
  readonly dataDir: string;
  /** Takes every byte that is left. */
  fill(): void;
  empty(): void;
  close(): Promise<void>;
}

export async function smallDisk(kind: Kind): Promise<SmallDisk> {
  const root = mkdtempSync(join(tmpdir(), 'usher-disk-'));
  chmodSync(root, 0o755);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kind === 'postgresql' ? 220 : 120}m`, 'none', root]);
  const ballast = join(root, 'ballast');
  const unmount = () => {
    execFileSync('umount', ['-l', root]);
    rmSync(root, { recursive: true, force: true });
  };
  const disk = { fill: () => fill(ballast), empty: () => rmSync(ballast, { force: true }) };
  try {
    if (kind === 'pglite') return { ...disk, url: null, dataDir: join(root, 'data'), close: async () => unmount() };
    mkdirSync(join(root, 'postgres'));
    const server = await startPostgres({ dir: join(root, 'postgres'), maxConnections: 60 });
    await prepareTemplate(server);
    const { url } = await createDatabase({ server });
    const dataDir = mkdtempSync(join(tmpdir(), 'usher-disk-data-'));
    const close = async () => {
      await server.close();
      rmSync(dataDir, { recursive: true, force: true });
      unmount();
    };
    return { ...disk, url, dataDir, close };
  } catch (error) {
    unmount();
    throw error;
  }
}

function fill(path: string): void {
  const file = openSync(path, 'w');
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}
