/**
 * A replica of the simulated database: a state that it has got to, and what befalls it. It lags, stands still, dies, hangs, shows a
 * commit before the primary does, is promoted and goes a way of its own, is put back to an older state, and is built anew.
 */
import { randomUUID } from 'node:crypto';
import type { Change, LogWindow, Revision } from '../../../src/engine/types.ts';
import { applyTo } from '../../oracle/rows.ts';
import { scopesOf } from '../../oracle/storage.ts';
import { NAMES, type Random, randomOperation } from '../../oracle/world.ts';
import type { SimulatedDatabase, State } from './simulated-database.ts';

type Condition = 'follows' | 'stands' | 'dead' | 'hangs' | 'promoted';

export class SimulatedReplica {
  readonly #database: SimulatedDatabase;
  readonly #random: Random;
  /** One in this many steps brings it on; between 1 and some. */
  readonly #pace: number;
  #state: State;
  condition: Condition = 'follows';

  constructor(database: SimulatedDatabase, random: Random) {
    this.#database = database;
    this.#random = random;
    this.#pace = 1 + random(6);
    this.#state = database.newest;
  }

  get state(): State {
    return this.#state;
  }

  /** One step of time. */
  live(): void {
    switch (this.#random(400)) {
      case 0:
        this.condition = 'dead';
        break;
      case 1:
        this.condition = 'hangs';
        break;
      case 2:
      case 3:
        this.condition = 'stands';
        break;
      case 4:
        this.condition = 'promoted';
        break;
      case 5:
        // Another server in its place, made from an older backup.
        this.condition = 'follows';
        this.#state = back(this.#state, this.#random(8));
        break;
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
      case 11:
      case 12:
      case 13:
        this.condition = 'follows';
        this.#state = back(this.#database.newest, this.#random(3));
        break;
    }
    if (this.condition === 'promoted' && this.#random(10) === 0) this.#write();
    if (this.condition === 'follows' && this.#random(this.#pace) === 0) this.#follow();
  }

  /** As far as the primary has got, as a rule; now and then a commit further. A replica on another way follows nobody. */
  #follow(): void {
    const ahead = this.#random(4) === 0 ? this.#database.prepare() : this.#database.newest;
    const way: State[] = [];
    for (let at: State | null = ahead; at !== this.#state; at = at.parent) {
      if (at === null) return;
      way.push(at);
    }
    this.#state = way.at(-1 - this.#random(3)) ?? ahead;
  }

  /** What a promoted one commits is in no history of the database. */
  #write(): void {
    const operation = randomOperation(this.#random, this.#state.rows, NAMES);
    this.#state = {
      revision: this.#state.revision + 1,
      nonce: randomUUID(),
      rows: applyTo(this.#state.rows, operation),
      scopes: scopesOf(operation),
      parent: this.#state,
      supersededAt: Number.POSITIVE_INFINITY,
    };
  }

  /** The log as it is there. */
  window(since: Revision): LogWindow {
    return windowAt(this.#state, since);
  }
}

/** The log as a snapshot of that state shows it. */
export function windowAt(state: State, since: Revision): LogWindow {
  const changes: Change[] = [];
  let at: State | null = state;
  for (; at !== null && at.revision > since; at = at.parent) {
    changes.unshift({ revision: at.revision, nonce: at.nonce as string, scopes: at.scopes });
  }
  const sinceNonce = at?.revision === since ? at.nonce : null;
  return { head: state.revision, headNonce: state.nonce, sinceNonce, changes, tooMany: false };
}

function back(state: State, by: number): State {
  return by === 0 || state.parent === null ? state : back(state.parent, by - 1);
}
