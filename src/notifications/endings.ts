/** Tells people that a grant of theirs ends soon (docs/reference/time.md#notices-of-ends). */

import { certain } from '../base/certain.ts';
import { UsherError } from '../base/errors.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Database, Outcome, Tx } from '../persistence/database.ts';
import { type EndingGrant, findEndings, takeEndings } from '../persistence/notifications/endings.ts';
import { languageOf, wordsOf } from './ending-words.ts';
import type { SendOrder, Sends } from './send.ts';

/** The key of a template of the type `generic`. */
export const TEMPLATE = 'access-ending';
/** People of one turn, each of one application. */
const AT_ONCE = 50;

interface EndingsOptions {
  readonly database: Pick<Database, 'read' | 'change'>;
  readonly sends: Pick<Sends, 'byService'>;
  readonly log: Pick<Logger, 'warn'>;
  /** Of people who have chosen none. */
  readonly timezone: string;
}

export class Endings {
  readonly #options: EndingsOptions;

  constructor(options: EndingsOptions) {
    this.#options = options;
  }

  /**
   * Tells some of those who are due, with one message for all that they hold in an application; true where others are left. Rejects with
   * the last failure after all were tried: what was not told is due again.
   */
  async tell(): Promise<boolean> {
    const { database } = this.#options;
    const found = await database.read((tx) => findEndings(tx, AT_ONCE, TEMPLATE));
    const groups = Map.groupBy(found, ({ app, email }) => `${app} ${email}`);
    let failure: unknown;
    for (const grants of groups.values()) {
      try {
        await this.#tellOne(grants);
      } catch (error) {
        failure = error;
      }
    }
    if (failure !== undefined) throw failure;
    return groups.size >= AT_ONCE;
  }

  async #tellOne(due: readonly EndingGrant[]): Promise<void> {
    const { database, sends, log } = this.#options;
    const { app, hasTemplate } = certain(due[0]);
    const claim = (tx: Tx) => takeEndings(tx, due);
    const grants = due.filter(({ isTold }) => isTold);
    if (grants.length === 0) {
      await database.change(async (tx): Promise<Outcome<boolean>> => ({ result: await claim(tx), scopes: [] }));
      return;
    }
    const order = this.#orderOf(grants);
    if (hasTemplate) {
      try {
        await sends.byService(app, { ...order, templateKey: TEMPLATE }, claim);
        return;
      } catch (error) {
        // Too much is being rendered, or the database is away: that passes.
        if (!(error instanceof UsherError) || error.code === 'UNAVAILABLE') throw error;
        log.warn({ err: error, app }, `template ${TEMPLATE} not usable; built-in words sent`);
      }
    }
    await sends.byService(app, order, claim);
  }

  #orderOf(grants: readonly EndingGrant[]): SendOrder {
    const first = certain(grants[0]);
    const wordsIn = languageOf(first.locale);
    return {
      type: 'generic',
      recipients: [first.email],
      payload: {
        grants: grants.map(({ kind, role, resourceType, resourceId, endsAt }) => ({
          kind,
          role,
          resourceType: resourceType || null,
          resourceId: resourceId || null,
          endsAt: endsAt.toISOString(),
        })),
      },
      ...wordsOf(grants, wordsIn, first.timezone ?? this.#options.timezone),
      wordsIn,
      url: null,
      icon: null,
      locale: null,
      templateKey: null,
    };
  }
}
