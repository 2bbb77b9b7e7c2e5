/**
 * Manifests: a complete application as one text, applied in one transaction, and exported again. (docs/reference/command-line.md#manifests.)
 */

import { availableParallelism } from 'node:os';
import { editorOf, superAdmin } from '../../administration/administer.ts';
import { DryRun, type ImpactView, rehearse } from '../../administration/dry-run.ts';
import { refuseChanged, refuseChangedAtEnd } from '../../administration/if-revision.ts';
import { unknownApplication } from '../../administration/records.ts';
import { certain } from '../../base/certain.ts';
import type { Clock } from '../../base/clock.ts';
import { tooMany } from '../../base/dear-reads.ts';
import { UsherError, unavailable } from '../../base/errors.ts';
import { isApplicationCode } from '../../base/grammar.ts';
import { Semaphore } from '../../base/semaphore.ts';
import { inSlices } from '../../base/time-slice.ts';
import type { RevisionToken } from '../../engine/types.ts';
import { lockApplication, tryClaim } from '../../persistence/catalog/manifest-read.ts';
import type { Committed, Database, Outcome, Tx } from '../../persistence/database.ts';
import { type Actor, recordApplied, recordRefused } from './audit.ts';
import { carryOut, type Progress, scopesOf } from './carry.ts';
import type { ExportFormat } from './export.ts';
import type { GatheredExport } from './exporting.ts';
import { type Fault, ManifestFaults } from './faults.ts';
import type { Manifest } from './format.ts';
import { loadCatalog, readEverybody } from './load.ts';
import { OwnApplies, refuseBeyond } from './own.ts';
import { parseManifest } from './parse.ts';
import { inOrder, type ManifestIssue, placed } from './places.ts';
import { isEmpty, makePlan, type Plan, type PlanView, planView } from './plan.ts';
import { checkTemplates, type TemplateChecker } from './templates.ts';

export interface ApplyOptions {
  actor: Actor;
  /** Plan, carry it out, measure who gains and loses, and roll back. */
  dryRun?: boolean;
  /** Refuse with STALE when the application has changed since then. */
  ifRevision?: RevisionToken | undefined;
  /** Remove records that a present section does not name. */
  prune?: boolean;
  /**
   * The only application that the manifest may be of; it must exist. The actor, a person, then needs no more than the single writes
   * of the plan do. Absent: a SuperAdmin or a key, for any application.
   */
  within?: string;
  /** Throws for an application that the actor's key is not for. */
  refuseOther?: ((app: string) => void) | undefined;
  requestId?: string | null;
  /** The actor's own words on why, for the audit. */
  reason?: string | undefined;
  onProgress?: Progress;
  /** Gives up before the commit, rolling everything back. */
  signal?: AbortSignal;
}

export interface Applied {
  plan: PlanView;
  /** The revision that the apply made, or the newest that it read. */
  revision: string;
  /** Set for dry runs. */
  impact: ImpactView | null;
}

interface ManifestsParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly templates: TemplateChecker;
  /** The URL of the JSON Schema of manifests for editors; exports name it. */
  readonly schemaUrl?: () => string | null;
}

const mayApply = superAdmin('apply a manifest');

/** Two callers, or one with two; on large machines half of the processors. */
const EXPORTS = { permits: Math.max(2, Math.floor(availableParallelism() / 2)), maxWaiting: 32, waitMs: 2000 };
/** Applies are serialized: on PGlite the second would not get a connection, and each holds a whole plan in memory. */
const MAX_WAITING = 16;
/** How long an apply waits for another instance that applies to the same application. */
const CLAIM_MS = 60_000;

export class Manifests {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #templates: TemplateChecker;
  readonly #schemaUrl: () => string | null;
  readonly #own = new OwnApplies();
  /** Each has a whole application in memory, and a processor. */
  readonly #exports: Semaphore;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor({ database, clock, templates, schemaUrl = () => null }: ManifestsParts) {
    this.#database = database;
    this.#clock = clock;
    this.#exports = new Semaphore({ clock, ...EXPORTS, busy: tooMany });
    this.#templates = templates;
    this.#schemaUrl = schemaUrl;
  }

  /**
   * Plans the changes that bring the application to the state in `text` (YAML or JSON), and carries them out in one transaction.
   * Rejects with every fault at once: `details.issues` with path, message, line and column; the reason is VALIDATION_FAILED, or
   * the one that all of them share. FORBIDDEN or USER_INACTIVE when the actor is no longer a SuperAdmin. With `within` FORBIDDEN
   * too for a part that the actor could not write singly, VALIDATION_FAILED for another application's code, NOT_FOUND for an
   * unknown application, RATE_LIMITED and UNAVAILABLE for too many at once.
   */
  apply(text: string, options: ApplyOptions): Promise<Applied> {
    const { within, actor } = options;
    return within === undefined
      ? this.#apply(text, options)
      : this.#own.run(emailOf(actor), () => this.#apply(text, options));
  }

  async #apply(text: string, options: ApplyOptions): Promise<Applied> {
    const { signal, within } = options;
    const { manifest, issues, places } = await parseManifest(text, signal);
    if (manifest === null) throw refusal(issues, []);
    options.refuseOther?.(manifest.application.code);
    try {
      if (within !== undefined && manifest.application.code !== within) {
        const message = `must be ${within}, the application in the path`;
        throw new ManifestFaults([{ path: ['application', 'code'], message }]);
      }
      return await this.#inTurn(async () => {
        signal?.throwIfAborted();
        const unfit = await checkTemplates(manifest, this.#templates, signal);
        // Faults of the form; those that need the database are reported with them.
        if (issues.length + unfit.length > 0) {
          throw new ManifestFaults([...unfit, ...(await this.#furtherFaults(manifest, options))]);
        }
        return await (options.dryRun ? this.#rehearse(manifest, options) : this.#carryOut(manifest, options));
      });
    } catch (error) {
      if (!(error instanceof ManifestFaults)) throw error;
      throw refusal(inOrder([...issues, ...placed(text, places, error.faults)]), error.faults);
    }
  }

  /** The bytes of the application as a manifest; NOT_FOUND for an unknown one. Rejects with the reason of an aborted signal. */
  async export(code: string, format: ExportFormat, signal?: AbortSignal): Promise<Uint8Array> {
    if (!isApplicationCode(code)) throw unknownApplication(code);
    await this.#exports.enter({ signal });
    try {
      return await this.#export(code, format, signal);
    } finally {
      this.#exports.leave();
    }
  }

  async #export(code: string, format: ExportFormat, signal: AbortSignal | undefined): Promise<Uint8Array> {
    // Loaded with the first export, to keep starts fast.
    const { gatherExport } = await import('./exporting.ts');
    const options = { format, schemaUrl: this.#schemaUrl(), signal };
    // One an attempt of the transaction; the last one has everything.
    const gathered: GatheredExport[] = [];
    try {
      await this.#database.read(async (tx) => {
        const { id, application, ...catalog } = await loadCatalog(tx, code, true);
        if (id === null || application === null) throw unknownApplication(code);
        const people = readEverybody(tx, id);
        gathered.push(await gatherExport({ catalog: { ...catalog, application }, people, ...options }));
      });
      return await certain(gathered.at(-1)).write();
    } finally {
      await Promise.all(gathered.map((one) => one.end()));
    }
  }

  async #rehearse(manifest: Manifest, options: ApplyOptions): Promise<Applied> {
    const dryRun = new DryRun();
    const { result, revision } = await rehearse<Plan>(this.#database, dryRun, {
      judge: (tx) => judge(tx, options),
      target: { app: manifest.application.code, overrides: true },
      write: (tx) => this.#write(tx, manifest, options),
    });
    const plan = await inSlices(planView(result, { dryRun: true, prune: options.prune ?? false }));
    return { plan, revision, impact: dryRun.impact };
  }

  async #carryOut(manifest: Manifest, options: ApplyOptions): Promise<Applied> {
    const { actor, prune = false, requestId = null, reason, ifRevision } = options;
    const { code } = manifest.application;
    const committed: Committed<Plan | UsherError> = await this.#database.change(
      async (tx): Promise<Outcome<Plan | UsherError>> => {
        const refused = await judge(tx, options);
        const outcome = refused ? { result: refused, scopes: [] } : await this.#write(tx, manifest, options);
        if (outcome.result instanceof UsherError) {
          await recordRefused(tx, { actor, code, requestId, reason });
          return outcome;
        }
        if (!isEmpty(outcome.result)) {
          await recordApplied(tx, outcome.result, { actor, code, requestId, reason, prune });
        }
        await refuseChangedAtEnd(tx, ifRevision, { app: code }, outcome);
        return outcome;
      },
    );
    if (committed.result instanceof UsherError) throw committed.result;
    const plan = await inSlices(planView(committed.result, { dryRun: false, prune }));
    return { plan, revision: committed.revision, impact: null };
  }

  async #write(tx: Tx, manifest: Manifest, options: ApplyOptions): Promise<Outcome<Plan | UsherError>> {
    const { prune = false, onProgress, signal, ifRevision, within, actor } = options;
    const { code } = manifest.application;
    await this.#claim(tx, code, signal);
    await lockApplication(tx, code);
    // Again: it may have waited a minute for its turn, and the application may be a new one of that code.
    const revoked = await judge(tx, options);
    if (revoked) return { result: revoked, scopes: [] };
    await refuseChanged(tx, ifRevision, { app: code });
    const plan = await makePlan(tx, manifest, prune);
    if (within !== undefined) {
      if (plan.id === null) throw unknownApplication(within);
      const beyond = await refuseBeyond(tx, plan, emailOf(actor));
      if (beyond !== null) return { result: beyond, scopes: [] };
    }
    if (isEmpty(plan)) return { result: plan, scopes: [] };
    await carryOut(tx, plan, (done, total) => {
      signal?.throwIfAborted();
      onProgress?.(done, total);
    });
    return { result: plan, scopes: await inSlices(scopesOf(plan)) };
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

  async #furtherFaults(manifest: Manifest, options: ApplyOptions): Promise<readonly Fault[]> {
    return await this.#database.read(async (tx) => {
      const refused = await judge(tx, options);
      if (refused) throw refused;
      try {
        await makePlan(tx, manifest, options.prune ?? false);
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

/**
 * The guard on rows of this transaction: the next apply of a revoked administrator fails. The rights of a key are in
 * the configuration, so there is no row to check.
 */
async function judge(tx: Tx, { actor, within }: ApplyOptions): Promise<UsherError | null> {
  if (within !== undefined) return await editorOf(within)(tx, emailOf(actor));
  return typeof actor === 'object' && 'email' in actor ? await mayApply(tx, actor.email) : null;
}

/** The address of an actor with `within`, who is always a person. */
function emailOf(actor: Actor): string {
  if (typeof actor === 'object' && 'email' in actor) return actor.email;
  throw new Error('an application is administered by people');
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
    `${where}${first?.message ?? 'the manifest is invalid'}${more}`,
    {
      details: { ...details, issues },
    },
  );
}
