/**
 * Refusals that look like the recipient's and are the sender's (docs/reference/notifications.md#refusals-by-mail-servers): three
 * different recipients in a row were refused with the same words. Then the lane pauses, and the mails of that row are tried again.
 */

import type { Tx } from '../persistence/database.ts';
import {
  keepRefusedRow,
  type RefusedMail,
  type RefusedRow,
  takeRefusedRows,
} from '../persistence/delivery/refused-rows.ts';

/** The end of a mail, as far as it tells about its server. */
export interface MailEnd {
  readonly lane: string;
  readonly mail: RefusedMail;
  /** The words of the refusal, hashed; null for a mail that was sent. */
  readonly refusal: string | null;
}

export interface Judgment {
  /** Refused mails that are tried again, by id: among those given. */
  readonly again: ReadonlySet<number>;
  /** Refused mails of earlier batches, which have failed meanwhile and are tried again. */
  readonly revived: readonly RefusedMail[];
  /** Lanes that refused one of them: they pause. */
  readonly paused: ReadonlySet<string>;
}

/** The error of a delivery whose server refused the sender, not the recipient. */
export const ACCOUNT_REFUSED = 'smtp_account';

/** Different recipients in a row, refused with the same words, after which the refusal concerns the sender. */
const RECIPIENTS = 3;
/** One person with more mails than this in a row says nothing about others. */
const MAX_MAILS = 200;

/** Of mails that were all sent: they end rows, and nothing is tried again. */
export const NOTHING: Judgment = { again: new Set(), revived: [], paused: new Set() };

export function lanesOf(ends: readonly MailEnd[]): string[] {
  return [...new Set(ends.map(({ lane }) => lane))];
}

/** Judges the mails of a batch, in their order, and keeps the rows for the next one. */
export async function judgeRefusals(tx: Tx, ends: readonly MailEnd[]): Promise<Judgment> {
  const lanes = lanesOf(ends);
  const rows = await takeRefusedRows(tx, lanes);
  const again = new Set<number>();
  const revived: RefusedMail[] = [];
  const paused = new Set<string>();
  for (const lane of lanes) {
    const before = rows.get(lane) ?? null;
    const ofLane = ends.filter((end) => end.lane === lane);
    const { row, retried } = follow(before, ofLane);
    const own = new Set(ofLane.map(({ mail }) => mail.id));
    for (const mail of retried) {
      if (own.has(mail.id)) again.add(mail.id);
      else revived.push(mail);
      paused.add(lane);
    }
    if (row !== before) await keepRefusedRow(tx, lane, row);
  }
  return { again, revived, paused };
}

/** The row after the ends of a lane's mails, and the mails that are tried again. Pure, for its table of tests. */
export function follow(
  before: RefusedRow | null,
  ends: readonly Pick<MailEnd, 'mail' | 'refusal'>[],
): { row: RefusedRow | null; retried: RefusedMail[] } {
  let row = before;
  const retried: RefusedMail[] = [];
  for (const { mail, refusal } of ends) {
    if (refusal === null) row = null;
    else if (row?.words !== refusal) row = { words: refusal, paused: false, mails: [mail] };
    else if (row.paused) retried.push(mail);
    else {
      const mails = [...row.mails, mail].slice(-MAX_MAILS);
      const isOfLane = new Set(mails.map(({ personId }) => personId)).size >= RECIPIENTS;
      if (isOfLane) retried.push(...mails);
      row = { words: refusal, paused: isOfLane, mails: isOfLane ? [] : mails };
    }
  }
  return { row, retried };
}
