import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type RunningService, startService } from '../cli/harness.ts';
import { createStorage, KINDS, type TestStorage } from '../support/databases.ts';
import { databaseEnv } from '../support/postgres.ts';

/** kill -9 of a whole service under sends: what was answered 202 is delivered by the next one. */
const KEY = 'the-internal-key-of-a-backend';
const ROUND_KINDS = process.env.USHER_LONG === '1' ? KINDS : (['pglite'] as const);
const ROUNDS = process.env.USHER_LONG === '1' ? 20 : 1;
const SENDERS = 4;

describe.each(ROUND_KINDS)('kill -9 under sends (%s)', (kind) => {
  let storage: TestStorage;
  let service: RunningService | undefined;

  const start = async (): Promise<RunningService> => {
    service = await startService({
      DATA_DIR: storage.dataDir,
      INTERNAL_API_KEY: KEY,
      ...databaseEnv(storage.url),
    });
    return service;
  };

  beforeAll(async () => {
    storage = await createStorage(kind);
  });
  afterAll(async () => {
    await service?.remove();
    await storage?.remove();
  });

  /** To whom each mail went, by its file. */
  const seen = new Map<string, string>();

  /** Whom mail came to, and how often. The development mailbox keeps the newest 200: a long run looks more often than that. */
  function delivered(): Map<string, number> {
    const directory = join(storage.dataDir, 'mailbox');
    // It is made with the first mail, before which the first kill may have come.
    const names = (existsSync(directory) ? readdirSync(directory) : []).filter((name) => name.endsWith('.json'));
    for (const name of names) {
      if (!seen.has(name)) seen.set(name, JSON.parse(readFileSync(join(directory, name), 'utf8')).to as string);
    }
    return new Map(
      [...Map.groupBy(seen.values(), (address) => address)].map(([address, all]) => [address, all.length]),
    );
  }

  test(
    'kill -9 loses no acknowledged send',
    async () => {
      const acknowledged: string[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const running = await start();
        const from = acknowledged.length;
        const send = async (sender: number): Promise<void> => {
          for (let n = 0; ; n++) {
            const email = `r${round}-${sender}-${n}@example.com`;
            const response = await fetch(`${running.url}/api/internal/notifications`, {
              method: 'POST',
              headers: { 'content-type': 'application/json', 'x-internal-api-key': KEY },
              body: JSON.stringify({ appCode: 'auth', recipients: [email], subject: email }),
            }).catch(() => null);
            if (response === null) return;
            expect(response.status).toBe(202);
            acknowledged.push(email);
            // In the middle of the others' sends, and of earlier deliveries.
            if (acknowledged.length === from + 3 * SENDERS) void running.remove();
          }
        };
        await Promise.all(Array.from({ length: SENDERS }, (_, sender) => send(sender)));
        delivered();
      }
      await start();
      const lost = () => acknowledged.filter((email) => !delivered().has(email));
      const late = performance.now() + 90_000;
      while (lost().length > 0 && performance.now() < late) await new Promise((resolve) => setTimeout(resolve, 250));
      expect(lost()).toEqual([]);
      expect(acknowledged.length).toBeGreaterThanOrEqual(ROUNDS * 3 * SENDERS);
      // A duplicate comes from a crash between the mail and its mark, not from every start.
      expect(Math.max(...delivered().values())).toBeLessThanOrEqual(2);
    },
    120_000 + ROUNDS * 60_000,
  );
});
