/** A person moved to another address (docs/reference/people.md#moving). */

import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { held } from '../windows.ts';

/** Whether the person has a right, or an account that is not one of `from` too: then nobody may be moved there. */
export async function isTaken({ kysely }: Tx, person: number, from: number): Promise<boolean> {
  const { rows } = await sql<{ taken: boolean }>`
    select exists (select from superadmin where person_id = ${person})
      or exists (select from ${held('app_admin')} m where m.person_id = ${person})
      or exists (select from ${held('user_role')} r where r.person_id = ${person})
      or exists (select from ${held('resource_override')} o where o.person_id = ${person})
      or exists (select from person_account a where a.person_id = ${person} and not exists (
        select from person_account b where b.person_id = ${from} and b.issuer = a.issuer and b.user_id = a.user_id)) as taken`.execute(
    kysely,
  );
  return rows[0]?.taken ?? true;
}

/**
 * Gives the person of id `from` the address `to`, and leaves a new, blocked one at the address before. `replaced` had `to` without anything
 * that decides: their notifications, logins and browsers go over, and the rest of their record is gone. Lock both first.
 */
export async function movePerson(
  { kysely }: Tx,
  { from, email, to, replaced }: { from: number; email: string; to: string; replaced: number | null },
): Promise<void> {
  if (replaced !== null) {
    for (const table of ['notification', 'app_event', 'push_subscription']) {
      await sql`update ${sql.table(table)} set person_id = ${from} where person_id = ${replaced}`.execute(kysely);
    }
    // Before the address is free again: what refers to it goes along.
    await sql`update person set moved_to = ${from} where moved_to = ${replaced} and id <> ${from}`.execute(kysely);
    await sql`delete from person where id = ${replaced}`.execute(kysely);
  }
  await sql`update person set email = ${to}, moved_to = null where id = ${from}`.execute(kysely);
  await sql`insert into person (email, blocked, moved_to) values (${email}, true, ${from})`.execute(kysely);
}
