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

/** Of a hash, as base64url: 132 bits. */
const HASH_CHARACTERS = 22;

export class DecisionLog {
  readonly #options: DecisionLogOptions;
  readonly #clock: Pick<Clock, 'now' | 'random'>;
  readonly #lines: Lines;

  constructor(options: DecisionLogOptions, clock: Pick<Clock, 'now' | 'random'>, lines: Lines) {
    this.#options = options;
    this.#clock = clock;
    this.#lines = lines;
  }

  /** A question about one permission, as it was sent: also a malformed one, which is denied. */
  decided(
    method: string,
    asked: Subject,
    answer: { permission: string; level: Level; decision: Decision; allowed: boolean; revision: string },
  ): void {
    const { permission, level, decision, allowed, revision } = answer;
    if (!this.#wants(decision.source, allowed)) return;
    this.#write(method, asked, {
      permission,
      askedLevel: LEVEL_NAMES[level],
      allowed,
      accessLevel: LEVEL_NAMES[decision.level],
      source: SOURCE_NAMES[decision.source],
      revision,
    });
  }

  /** A list of permissions: one line, which refuses nothing. */
  listed(method: string, asked: Subject, items: readonly EffectiveItem[], revision: string): void {
    const source = items.find((item) => isPrivileged(item.source))?.source ?? Source.NONE;
    if (!this.#wants(source, true)) return;
    const granted = items.reduce((count, item) => count + (item.granted ? 1 : 0), 0);
    this.#write(method, asked, { permissions: items.length, granted, source: SOURCE_NAMES[source], revision });
  }

  #wants(source: Source, allowed: boolean): boolean {
    const { denied, privileged, sample } = this.#options;
    if (denied && !allowed) return true;
    if (privileged && isPrivileged(source)) return true;
    return sample > 0 && this.#clock.random() < sample;
  }

  #write(method: string, { email, app, resourceType, resourceId }: Subject, answer: object): void {
    const { emails, resources } = this.#options;
    const line = {
      level: 'info',
      time: new Date(this.#clock.now()).toISOString(),
      msg: 'decision',
      method,
      email: this.#masked(emails, 'email', normalizeEmail(email) ?? email),
      app,
      resourceType: resourceType === '' ? undefined : resourceType,
      resourceId: resourceId === '' ? undefined : this.#masked(resources, 'resource', resourceId),
      ...answer,
    };
    this.#lines.push(`${JSON.stringify(line)}\n`);
  }

  #masked(how: Masking, kind: string, value: string): string | undefined {
    if (how === 'plain') return value;
    if (how === 'omitted') return undefined;
    const { hashKey } = this.#options;
    if (hashKey === null) throw new Error('the configuration demands a key for hashes');
    return createHmac('sha256', hashKey).update(`${kind}\0${value}`).digest('base64url').slice(0, HASH_CHARACTERS);
  }
}

function isPrivileged(source: Source): boolean {
  return source === Source.SUPERADMIN || source === Source.APP_ADMIN;
}
