/** Grants that begin and end, with one guard taken away: the simulation of such grants must notice each. */
import { Ahead } from '../../../src/engine/ahead.ts';
import { type DecisionFacts, Decisions, type QuestionKey } from '../../../src/engine/decisions.ts';
import type { Fact } from '../../../src/engine/fact.ts';
import type { Ticket } from '../../../src/engine/follower.ts';
import { GroundsFinder, type HeldFacts } from '../../../src/engine/grounds.ts';
import { endOf } from '../../../src/engine/instants.ts';
import { Loader } from '../../../src/engine/loader.ts';
import type { Boundaries, Decision, MembersReply, Subject } from '../../../src/engine/types.ts';
import { type Make, SmallReplica } from './settings.ts';
import type { Shape } from './simulation.ts';
import { serving } from './wire-mutants.ts';

const finder = (Made: typeof GroundsFinder): Make => ({ parts: { GroundsFinder: Made } });

/** Facts end when `end` says. */
function ending(end: (ticket: Ticket, boundaryMs: number, now: number) => number): Make {
  return {
    parts: {
      Loader: class extends Loader {
        readonly #clock: ConstructorParameters<typeof Loader>[0]['clock'];

        constructor(options: ConstructorParameters<typeof Loader>[0]) {
          super(options);
          this.#clock = options.clock;
        }

        protected override endOf(ticket: Ticket, boundaryMs: number | null): number | null {
          return boundaryMs === null ? null : Math.floor(end(ticket, boundaryMs, this.#clock.monotonic()));
        }
      },
    },
  };
}

/** When a fact would be due if it had no bound. */
function dueOf({ due, bound }: Pick<Fact<unknown>, 'due' | 'bound'>): number {
  return bound?.due ?? due;
}

function longer({ person, member, overrides }: Boundaries, by: number): Boundaries {
  const more = (boundary: number | null) => (boundary === null ? null : boundary + by);
  return { person: more(person), member: more(member), overrides: more(overrides) };
}

interface TimeMutant {
  readonly make: Make;
  readonly shape?: Shape;
}

export const TIME_MUTANTS: Readonly<Record<string, TimeMutant>> = {
  'a boundary is compared with the tick': {
    make: finder(
      class extends GroundsFinder {
        protected override instant(now: number): number {
          return now;
        }
      },
    ),
  },
  'a boundary counts from the arrival of the reply': {
    make: ending((_, boundaryMs, now) => endOf(now, boundaryMs) as number),
  },
  'a boundary counts from the arrival of the reply, at edges': {
    make: ending((_, boundaryMs, now) => endOf(now, boundaryMs) as number),
    shape: { edges: true },
  },
  'facts have no boundary': { make: ending(() => Number.MAX_SAFE_INTEGER) },
  'facts with a boundary are kept with a parsed question': {
    make: finder(
      class extends GroundsFinder {
        override isValid({ policy, person, member, overrides }: HeldFacts, now: number): boolean {
          const all = [person, member, ...(overrides === null ? [] : [overrides])];
          return policy.lease.live && policy.due > now && all.every((fact) => fact.lease.live && dueOf(fact) > now);
        }
      },
    ),
  },
  'a fact with a boundary is moved by reading ahead': {
    make: {
      parts: {
        Ahead: class extends Ahead {
          override note(subject: Subject, facts: DecisionFacts, now: number): void {
            super.note(subject, facts, now);
            for (const fact of [facts.person, facts.member, facts.overrides]) if (fact !== null) fact.due = dueOf(fact);
          }
        },
      },
    },
  },
  'a decision from a fact with a boundary is stored': {
    make: {
      parts: {
        Decisions: class extends Decisions {
          override put(key: QuestionKey, decision: Decision, { member, overrides, ...others }: DecisionFacts): void {
            super.put(key, decision, {
              ...others,
              member: { ...member, due: dueOf(member) },
              overrides: overrides && { ...overrides, due: dueOf(overrides) },
            });
          }
        },
      },
    },
  },
  'boundaries are given to edges as they were read': {
    make: serving((served) => ({
      members: async (...asked): Promise<MembersReply> => {
        const reply = await served.members(...asked);
        const answers = reply.answers.map((answer) => {
          return { ...answer, boundaries: longer(answer.boundaries, reply.ageMs ?? 0) };
        });
        return { ...reply, answers };
      },
    })),
    shape: { edges: true },
  },
  'a replica says who holds what has a beginning or an end': {
    make: {
      parts: {
        Replica: class extends SmallReplica {
          protected override isTimed(): boolean {
            return false;
          }
        },
      },
    },
    shape: { replicas: true },
  },
};
