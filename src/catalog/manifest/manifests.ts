/**
 * Manifests: a whole application as one text, applied in one transaction, and written out again. (docs/reference/command-line.md#manifests.)
 */

import { superAdmin } from '../../administration/administer.ts';
import type { Clock } from '../../base/clock.ts';
import { UsherError, unavailable } from '../../base/errors.ts';
import { isApplicationCode } from '../../base/grammar.ts';
import { lockApplication, tryClaim } from '../../persistence/catalog/manifest-read.ts';
import type { Committed, Database, Outcome, Tx } from '../../persistence/database.ts';
import { type Actor, recordApplied, recordRefused } from './audit.ts';
import { carryOut, type Progress, scopesOf } from './carry.ts';
import type { ManifestIssue } from './examine.ts';
import { type ExportedManifest, toManifest, toYaml } from './export.ts';
import { type Fault, type Manifest, ManifestFaults } from './format.ts';
import { loadCatalog, loadEverybody } from './load.ts';
import { parseManifest } from './parse.ts';
import { isEmpty, makePlan, type Plan, type ShownPlan, showPlan } from './plan.ts';
import { checkTemplates, type TemplateChecker } from './templates.ts';

export interface ApplyOptions {
  actor: Actor;
  /** Plan only. */
  dryRun?: boolean;
  /** Remove what a present section does not name. */
  prune?: boolean;
  requestId?: string | null;
  onProgress?: Progress;
  /** Gives up before the commit, rolling everything back. */
  signal?: AbortSignal;
}

export interface Applied {
  plan: ShownPlan;
  /** The revision that the apply made, or the newest that it saw; undefined for a dry run. */
  revision: string | undefined;
}

export interface Exported {
  manifest: ExportedManifest;
  yaml: string;
}

const mayApply = superAdmin('apply a manifest');

/** Applies wait for each other: on PGlite the second would not get its turn, and each holds a whole plan in memory. */
const MAX_WAITING = 16;
/** How long one waits for another instance that applies to the same application. */
const CLAIM_MS = 60_000;

export class Manifests {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #templates: TemplateChecker;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor({ database, clock, templates }: { database: Database; clock: Clock; templates: TemplateChecker }) {
    this.#database = database;
    this.#clock = clock;
    this.#templates = templates;
  }

  /**
   * Plans what makes the application what `text` (YAML or JSON) says, and does it, in one transaction or not at all.
   * Rejects with every fault at once: `details.issues` with path, message, line and column; the reason is VALIDATION_FAILED, or
   * the one that all of them share. FORBIDDEN or USER_INACTIVE when the actor is no SuperAdmin any more.
   */
  async apply(text: string, options: ApplyOptions): Promise<Applied> {
    const { signal } = options;
    const { manifest, issues } = await parseManifest(text, [], signal);
    if (manifest === null) throw refusal(issues, []);
    try {
      return await this.#inTurn(async () => {
        signal?.throwIfAborted();
        const unfit = await checkTemplates(manifest, this.#templates, signal);
        // Faults of the form: what the database has to say comes in the same answer.
        if (issues.length + unfit.length > 0) {
          throw new ManifestFaults([...unfit, ...(await this.#furtherFaults(manifest, options))]);
        }
        return await (options.dryRun ? this.#plan(manifest, options) : this.#carryOut(manifest, options));
      });
    } catch (error) {
      if (!(error instanceof ManifestFaults)) throw error;
      throw refusal((await parseManifest(text, error.faults, signal)).issues, error.faults);
    }
  }

  /** The application as a manifest; NOT_FOUND when there is none. */
  async export(code: string): Promise<Exported> {
    const manifest = isApplicationCode(code) ? await this.#database.read((tx) => load(tx, code)) : null;
    if (manifest === null) throw new UsherError('NOT_FOUND', `There is no application ${code}.`);
    return { manifest, yaml: await toYaml(manifest) };
  }

  async #plan(manifest: Manifest, { actor, prune = false }: ApplyOptions): Promise<Applied> {
    const plan = await this.#database.read(async (tx) => {
      const refused = await judge(tx, actor);
      if (refused) throw refused;
      return await makePlan(tx, manifest, prune);
    });
    return { plan: showPlan(plan, { dryRun: true, prune }), revision: undefined };
  }

  async #carryOut(manifest: Manifest, options: ApplyOptions): Promise<Applied> {
    const { actor, prune = false, requestId = null, onProgress, signal } = options;
    const { code } = manifest.application;
    const committed: Committed<Plan | UsherError> = await this.#database.change(
      async (tx): Promise<Outcome<Plan | UsherError>> => {
        const refused = await judge(tx, actor);
        if (refused) {
          await recordRefused(tx, { actor, code, requestId });
          return { result: refused, scopes: [] };
        }
        await this.#claim(tx, code, signal);
        await lockApplication(tx, code);
        const plan = await makePlan(tx, manifest, prune);
        if (isEmpty(plan)) return { result: plan, scopes: [] };
        await carryOut(tx, plan, (done, total) => {
          signal?.throwIfAborted();
          onProgress?.(done, total);
        });
        await recordApplied(tx, plan, { actor, code, requestId, prune });
        return { result: plan, scopes: scopesOf(plan) };
      },
    );
    if (committed.result instanceof UsherError) throw committed.result;
    return { plan: showPlan(committed.result, { dryRun: false, prune }), revision: committed.revision };
  }

  /** Waits for another instance without holding a lock that others wait for. */
  async #claim(tx: Tx, code: string, signal: AbortSignal | undefined): Promise<void> {
    const end = this.#clock.monotonic() + CLAIM_MS;
    while (!(await tryClaim(tx, code))) {
      signal?.throwIfAborted();
      if (this.#clock.monotonic() > end) throw unavailable(`Another manifest of ${code} is being applied; try again.`);
      await new Promise<void>((resolve) => {
        this.#clock.after(50 + 100 * this.#clock.random(), resolve);
      });
    }
  }

  async #furtherFaults(manifest: Manifest, { prune = false, actor }: ApplyOptions): Promise<readonly Fault[]> {
    return await this.#database.read(async (tx) => {
      const refused = await judge(tx, actor);
      if (refused) throw refused;
      try {
        await makePlan(tx, manifest, prune);
        return [];
      } catch (error) {
        if (error instanceof ManifestFaults) return error.faults;
        throw error;
      }
    });
  }

  async #inTurn<T>(run: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING) throw unavailable('Too many manifests are being applied; try again shortly.');
    this.#waiting++;
    const mine = this.#last.then(run);
    this.#last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      this.#waiting--;
    }
  }
}

async function load(tx: Tx, code: string): Promise<ExportedManifest | null> {
  const { id, application, ...catalog } = await loadCatalog(tx, code, true);
  if (id === null || application === null) return null;
  return toManifest({ ...catalog, application }, await loadEverybody(tx, id));
}

/**
 * Rules 1 and 2 on rows of this very transaction: a revoked SuperAdmin's next apply fails. Of a key the configuration says what
 * it may, and there is no row to look at.
 */
async function judge(tx: Tx, actor: Actor): Promise<UsherError | null> {
  return typeof actor === 'object' && 'email' in actor ? await mayApply(tx, actor.email) : null;
}

/** All faults as one error: the reason that they share, else VALIDATION_FAILED. */
function refusal(issues: readonly ManifestIssue[], faults: readonly Fault[]): UsherError {
  const [first] = issues;
  const shared = first?.code !== undefined && issues.every(({ code }) => code === first.code) ? first.code : null;
  const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
  const where = first ? `line ${first.line}, column ${first.column}: ${first.path ? `${first.path}: ` : ''}` : '';
  const details = shared === null ? {} : Object.assign({}, ...faults.map((fault) => fault.details ?? {}));
  return new UsherError(
    shared ?? 'VALIDATION_FAILED',
    `${where}${first?.message ?? 'the manifest does not fit'}${more}`,
    {
      details: { ...details, issues },
    },
  );
}
