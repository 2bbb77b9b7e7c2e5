import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, type ServiceError, status } from '@grpc/grpc-js';
import { afterAll, beforeAll } from '@jest/globals';
import { type RunningService, startService } from '../cli/harness.ts';
import { call, FRONT } from '../grpc/support.ts';

type Line = Record<string, unknown> & { msg: string };

/** `usher serve` in a process of its own, with a configuration file that a test changes. */
export interface ReloadingService extends RunningService {
  readonly folder: string;
  /** Every line of its log. */
  readonly log: readonly Line[];
  readonly write: (config: object) => void;
  /** Writes it, and has it taken. */
  readonly take: (config: object) => Promise<void>;
  /** A file beside the configuration; answers its path. */
  readonly file: (name: string, text: string) => string;
  /** Sends SIGHUP; answers the line of the outcome. */
  readonly reload: () => Promise<Line>;
  /** The value of a metric; NaN for one that is not there. */
  readonly metric: (name: string) => Promise<number>;
}

/** A configuration with these keys. */
export const withKeys = (...apiKeys: string[]) => ({
  internal: { apiKeys },
  log: { level: 'info' },
  grpc: { front: FRONT },
});

const CLARA = { email: 'clara@example.com', app: 'atelier', permission: 'project.access' };

/** What comes of a call with a key, or without: `answered`, or the name of its status. */
export async function outcome(client: Client, key?: string, method: 'Check' | 'Explain' = 'Check'): Promise<string> {
  const metadata: Record<string, string> = key === undefined ? {} : { 'x-internal-api-key': key };
  const question = method === 'Check' ? CLARA : { check: CLARA };
  try {
    await call(client, method, question, { metadata, deadline: Date.now() + 5000 });
    return 'answered';
  } catch (error) {
    return status[(error as ServiceError).code] ?? String(error);
  }
}

/** One process for a file of tests: each begins with a reload of its own. Valid inside tests. */
export function useReloading(config: Parameters<typeof startReloading>[0]): () => ReloadingService {
  let service: ReloadingService | undefined;
  beforeAll(async () => {
    service = await startReloading(config);
  }, 120_000);
  afterAll(async () => {
    await service?.remove();
  }, 30_000);
  return () => service as ReloadingService;
}

/** Starts it; `config` may use the folder for certificates. YAML holds JSON. */
export async function startReloading(
  config: (file: (name: string, text: string) => string) => object,
  env: Record<string, string> = {},
): Promise<ReloadingService> {
  const folder = mkdtempSync(join(tmpdir(), 'usher-reload-'));
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const write = (next: object): void => {
    file('usher.yaml', JSON.stringify(next));
  };
  write(config(file));
  const log: Line[] = [];
  let rest = '';
  const service = await startService(
    { USHER_CONFIG: join(folder, 'usher.yaml'), ...env },
    {
      onOutput: (text) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line.startsWith('{')) log.push(JSON.parse(line) as Line);
      },
    },
  );
  const reload = async (): Promise<Line> => {
    const before = log.length;
    process.kill(service.pid, 'SIGHUP');
    for (let waited = 0; waited < 20_000; waited += 5) {
      const line = log.slice(before).find(({ msg }) => msg.startsWith('configuration '));
      if (line !== undefined) return line;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error('no outcome of a reload in the log');
  };
  return {
    ...service,
    folder,
    log,
    write,
    file,
    reload,
    take: async (next) => {
      write(next);
      const { msg, ...line } = await reload();
      if (!msg.startsWith('configuration reloaded')) throw new Error(`${msg} ${JSON.stringify(line)}`);
    },
    metric: async (name) => {
      const text = await (await fetch(`${service.url}/metrics`)).text();
      const line = text.split('\n').find((one) => one.startsWith(`${name} `));
      return Number(line?.slice(name.length + 1) ?? Number.NaN);
    },
    remove: async () => {
      await service.remove();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
