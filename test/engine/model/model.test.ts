import { describe, expect, test } from '@jest/globals';
import { DURABILITY_MUTANTS } from './durability-mutants.ts';
import { MODEL_MUTANTS } from './mutants.ts';
import { REPLICA_MUTANTS } from './replica-mutants.ts';
import type { Make } from './settings.ts';
import { type Shape, Simulation } from './simulation.ts';
import { WIRE_MUTANTS } from './wire-mutants.ts';

const LONG = process.env.USHER_LONG === '1';
const SCHEDULES = LONG ? 6000 : 300;
const STEPS = 400;
/** A mutant must be detected within this many schedules; most are within ten. */
const PATIENCE = 1000;

/** Every fifth schedule cuts the upstream off again and again: those first, alternating with others. */
const SEEDS_OF_EDGES = Array.from({ length: PATIENCE }, (_, index) => {
  const half = Math.floor(index / 2);
  return index % 2 === 0 ? 4 + 5 * half : 5 * Math.floor(half / 4) + (half % 4);
});

async function broken(seed: number, make: Make, shape: Shape = {}): Promise<string | null> {
  try {
    await new Simulation(seed, make, shape).run(STEPS);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('random schedules of the engine', () => {
  test.each([
    { through: 'two instances', shape: {}, share: 0.6 },
    { through: 'two instances, an edge of one of them, and an edge of that', shape: { edges: true }, share: 0.45 },
    { through: 'two instances with replicas', shape: { replicas: true }, share: 0.6 },
    { through: 'two instances with replicas, and edges', shape: { replicas: true, edges: true }, share: 0.45 },
    { through: 'two instances with early release', shape: { early: true }, share: 0.45 },
  ])(
    "every answer is the database's at its revision, and fresh enough, through $through",
    async ({ shape, share }) => {
      const failed: string[] = [];
      let answers = 0;
      for (let seed = 1; seed <= SCHEDULES; seed++) {
        const simulation = new Simulation(seed, {}, shape);
        await simulation.run(STEPS).catch((error: Error) => failed.push(`schedule ${seed}: ${error.message}`));
        answers += simulation.answers;
      }
      expect(failed).toEqual([]);
      // That most questions are answered: an engine that answers nothing has no wrong answers.
      expect(answers).toBeGreaterThan(SCHEDULES * STEPS * share);
    },
    LONG ? 900_000 : 120_000,
  );

  test.each(Object.keys(MODEL_MUTANTS))(
    'the model detects the mutant: %s',
    async (name) => {
      let seen: string | null = null;
      for (let seed = 1; seed <= PATIENCE && seen === null; seed++)
        seen = await broken(seed, MODEL_MUTANTS[name] as Make);
      expect(seen).toMatch(/^A[123]: /);
    },
    120_000,
  );

  test.each(Object.keys(REPLICA_MUTANTS))(
    'the model detects the mutant of a replica: %s',
    async (name) => {
      let seen: string | null = null;
      for (let seed = 1; seed <= PATIENCE && seen === null; seed++)
        seen = await broken(seed, REPLICA_MUTANTS[name] as Make, { replicas: true });
      expect(seen).toMatch(/^A[1234]: /);
    },
    120_000,
  );

  test.each(Object.keys(DURABILITY_MUTANTS))(
    'the model detects the mutant of early release: %s',
    async (name) => {
      let seen: string | null = null;
      for (let seed = 1; seed <= PATIENCE && seen === null; seed++)
        seen = await broken(seed, DURABILITY_MUTANTS[name] as Make, { early: true });
      expect(seen).toMatch(/^A5: /);
    },
    120_000,
  );

  test.each(Object.keys(WIRE_MUTANTS))(
    'the model detects the mutant of the wire: %s',
    async (name) => {
      let seen: string | null = null;
      for (const seed of SEEDS_OF_EDGES) {
        seen ??= await broken(seed, WIRE_MUTANTS[name] as Make, { edges: true });
      }
      expect(seen).toMatch(/^A[123]: /);
    },
    120_000,
  );
});
