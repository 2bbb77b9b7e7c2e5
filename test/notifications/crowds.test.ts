import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { KINDS } from '../support/databases.ts';
import { useRegistry } from '../support/registry.ts';
import { MANIFEST, sendBySystem } from './support.ts';

/** Sends below and above the size from which on they wait for their turn. */
const SIZES = [30, 30, 30, 60, 30, 30, 60, 30, 30, 60, 30, 60];

describe.each(KINDS)('concurrent sends to known, new and shared people (%s)', (kind) => {
  // No worker: what is stored to be delivered is looked at as it is.
  const registry = useRegistry(kind, [MANIFEST], { USHER_ROLES: 'gateway,rpc' });

  /** Recipients of each send: half of a pool, from a different place and in a different order each. */
  const some = (pool: string, count: number, send: number) =>
    Array.from(
      { length: count },
      (_, at) => `${pool}${((send % 2 === 0 ? at : -at) + send * 7 + 2 * count) % (2 * count)}@example.com`,
    );

  test('concurrent sends are all stored completely, and nobody is created twice', async () => {
    for (let round = 0; round < 3; round++) {
      const sent = SIZES.map((size, send) => [
        ...some('known', size / 2, send),
        ...some(`new${round}.`, size / 2, send),
      ]);
      const answers = await Promise.all(
        sent.map((recipients, send) =>
          sendBySystem(registry.usher, {
            appCode: 'billing',
            type: 'generic',
            subject: `${round}.${send}`,
            body: 'Hello.',
            recipients,
          }),
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual(sent.map(() => 202));
      for (const [send, recipients] of sent.entries()) {
        const { notifications } = answers[send]?.body.data ?? {};
        expect(notifications.map(({ email }: { email: string }) => email)).toEqual(recipients);
        const { rows } = await registry.usher.app.database.read((tx) =>
          sql<{ email: string }>`
            select p.email from notification n join person p on p.id = n.person_id join delivery d on d.notification_id = n.id
             where n.subject = ${`${round}.${send}`} and d.content ->> 'to' = p.email order by n.id`.execute(tx.kysely),
        );
        expect(rows.map(({ email }) => email)).toEqual(recipients);
      }
    }
  }, 60_000);
});
