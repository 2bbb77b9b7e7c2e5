/** The decision log (docs/guides/observability.md#decision-log): which decisions are written, and what a line says. */

import { createHmac } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { normalizeEmail } from '../base/grammar.ts';
import { LEVEL_NAMES, SOURCE_NAMES } from '../base/level-names.ts';
import { Engine } from '../engine/engine.ts';
import type { EngineOptions } from '../engine/options.ts';
import { type Decision, type EffectiveItem, type Level, Source, type Subject } from '../engine/types.ts';

/** How an address, or the identifier of a record, is written: as it is, as a keyed hash, or not at all. */
export type Masking = 'plain' | 'hashed' | 'omitted';

export interface DecisionLogOptions {
  /** Whether refusals are written. */
  readonly denied: boolean;
  /** Whether decisions by the rules of SuperAdmins and AppAdmins are. */
  readonly privileged: boolean;
  /** Which share of all others is, from 0 to 1. */
  readonly sample: number;
  readonly emails: Masking;
  readonly resources: Masking;
  /** Of the hashes; null where nothing is hashed. */
  readonly hashKey: string | null;
}

interface Lines {
  push(line: string): void;
}

/** An engine whose answers to callers are logged: by the RPCs, since they alone know the level that was asked for. */
export class LoggedEngine extends Engine {
  readonly decisionLog: DecisionLog;

  constructor(options: EngineOptions, decisionLog: DecisionLog) {
    super(options);
    this.decisionLog = decisionLog;
  }
}

/** The names as JSON, `null` among them. */
const NAMED_LEVELS = LEVEL_NAMES.map((name) => JSON.stringify(name));
const NAMED_SOURCES = SOURCE_NAMES.map((name) => JSON.stringify(name));

/** Of a hash, as base64url: 132 bits. */
const HASH_CHARACTERS = 22;

export class DecisionLog {
  readonly #options: DecisionLogOptions;
  readonly #clock: Pick<Clock, 'now' | 'random'>;
  readonly #lines: Lines;
  readonly #denied: boolean;
  readonly #privileged: boolean;
  readonly #isSampling: boolean;
  /** Decisions until the next one that the sample takes. */
  #passedBy: number;
  /** The second of the last line, and its text up to the milliseconds. */
  #second = Number.NaN;
  #upToSecond = '';

  constructor(options: DecisionLogOptions, clock: Pick<Clock, 'now' | 'random'>, lines: Lines) {
    this.#options = options;
    this.#clock = clock;
    this.#lines = lines;
    this.#denied = options.denied;
    this.#privileged = options.privileged;
    this.#isSampling = options.sample > 0;
    this.#passedBy = this.#isSampling ? this.#nextGap() : 0;
  }

  /** Whether a decision has a line. Asked once for each, before anything is made for the line: most have none. */
  wants(source: Source, allowed: boolean): boolean {
    if (this.#denied && !allowed) return true;
    if (this.#privileged && isPrivileged(source)) return true;
    if (!this.#isSampling) return false;
    if (this.#passedBy > 0) {
      this.#passedBy--;
      return false;
    }
    this.#passedBy = this.#nextGap();
    return true;
  }

  /** A question about one permission that `wants` a line, as it was sent: also a malformed one, which is denied. */
  decided(
    method: string,
    asked: Subject,
    answer: { permission: string; level: Level; decision: Decision; allowed: boolean; revision: string },
  ): void {
    const { permission, level, decision, allowed, revision } = answer;
    const levels = `,"askedLevel":${NAMED_LEVELS[level]},"allowed":${allowed},"accessLevel":${NAMED_LEVELS[decision.level]}`;
    this.#write(
      method,
      asked,
      `${field('permission', permission)}${levels},"source":${NAMED_SOURCES[decision.source]},"revision":"${revision}"`,
    );
  }

  /** A list of permissions: one line, which refuses nothing. */
  listed(method: string, asked: Subject, items: readonly EffectiveItem[], revision: string): void {
    const source = items.find((item) => isPrivileged(item.source))?.source ?? Source.NONE;
    if (!this.wants(source, true)) return;
    const granted = items.reduce((count, item) => count + (item.granted ? 1 : 0), 0);
    const counts = `,"permissions":${items.length},"granted":${granted}`;
    this.#write(method, asked, `${counts},"source":${NAMED_SOURCES[source]},"revision":"${revision}"`);
  }

  /**
   * How many decisions pass between two that are taken: the geometric distribution, so that each is taken with the same chance, and
   * by itself, as by a random number for each. That number for each was half the cost of the log.
   */
  #nextGap(): number {
    const { sample } = this.#options;
    if (sample >= 1) return 0;
    return Math.floor(Math.log(1 - this.#clock.random()) / Math.log1p(-sample));
  }

  #write(method: string, { email, app, resourceType, resourceId }: Subject, answer: string): void {
    const { emails, resources } = this.#options;
    const who = this.#masked(emails, 'email', normalizeEmail(email) ?? email);
    const record = resourceId === '' ? undefined : this.#masked(resources, 'resource', resourceId);
    // Only what callers wrote has to be escaped: one object of everything would take JSON.stringify twice the time.
    this.#lines.push(
      `{"level":"info","time":"${this.#time()}","msg":"decision","method":"${method}"${field('email', who)}${field('app', app)}${field('resourceType', resourceType === '' ? undefined : resourceType)}${field('resourceId', record)}${answer}}\n`,
    );
  }

  /** As `toISOString` has it, which takes a quarter of the time that a line takes. */
  #time(): string {
    const now = Math.floor(this.#clock.now());
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#upToSecond = new Date(second * 1000).toISOString().slice(0, -'000Z'.length);
    }
    return `${this.#upToSecond}${String(now - second * 1000).padStart(3, '0')}Z`;
  }

  #masked(how: Masking, kind: string, value: string): string | undefined {
    if (how === 'plain') return value;
    if (how === 'omitted') return undefined;
    const { hashKey } = this.#options;
    if (hashKey === null) throw new Error('the configuration demands a key for hashes');
    return createHmac('sha256', hashKey).update(`${kind}\0${value}`).digest('base64url').slice(0, HASH_CHARACTERS);
  }
}

/** A field of a line behind another; '' for none. */
function field(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":${JSON.stringify(value)}`;
}

function isPrivileged(source: Source): boolean {
  return source === Source.SUPERADMIN || source === Source.APP_ADMIN;
}
