/** Questions that a program keeps (`keep`), beside the same by `check` and `peek`: one thread, facts here. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { KeptQuestion } from '../../clients/typescript/src/kept.ts';
import { createLocalUsher, type LocalUsher } from '../../clients/typescript/src/local.ts';
import type { Question } from '../../clients/typescript/src/types.ts';
import { makeDataset } from '../dataset.ts';
import type { Lab } from '../lab.ts';
import { CORES } from '../processes.ts';
import { allQuestions, hotQuestions, toQuestion } from '../questions.ts';
import { median, percentile, type Row, row } from '../report.ts';
import { KEY, Service } from '../service.ts';

const NAME = 'kept';

export async function kept(lab: Lab): Promise<Row[]> {
  const databaseUrl = await lab.data();
  const env = { INTERNAL_API_KEY: `bench:check+facts:${KEY}` };
  const instance = await Service.start({ databaseUrl, core: CORES.server, env });
  const usher = createLocalUsher({ address: `127.0.0.1:${instance.grpcPort}`, key: KEY, deadlineMs: 10_000 });
  try {
    await usher.ready();
    // One in fifty names a permission that does not exist, which is a mistake of a program and not kept among the facts.
    const meant = allQuestions(makeDataset()).filter(({ permission }) => permission !== 'no.such.permission');
    const questions = hotQuestions(meant).slice(0, 100).map(toQuestion);
    const mays = questions.map((question) => usher.keep(question));
    await Promise.all(mays.map((may) => may.ready()));
    await agree(usher, questions, mays);
    const count = lab.settings.quick ? 1_000_000 : 5_000_000;
    const runs = Array.from({ length: lab.settings.slices }, () => ({
      may: mayRate(mays, count / lab.settings.slices),
      peek: peekRate(usher, questions, count / lab.settings.slices / 4),
    }));
    const check = await checkRate(usher, questions, count / 20);
    await agree(usher, questions, mays);
    return [
      row(
        NAME,
        'may(): 100 kept questions, one thread',
        '/s',
        runs.map(({ may }) => may),
        { atLeast: 5_000_000 },
      ),
      row(NAME, 'may(): p50 of one', 'ns', [middle(mays)], { atMost: 250 }),
      row(NAME, 'may(): bytes allocated', 'B', [allocated(mays)], { atMost: 0.1 }),
      row(NAME, 'may() in terms of peek()', '', [median(runs.map(({ may, peek }) => may / peek))]),
      row(NAME, 'check(), the same questions', '/s', [check]),
    ];
  } finally {
    usher.close();
    await instance.stop();
  }
}

async function agree(usher: LocalUsher, questions: readonly Question[], mays: readonly KeptQuestion[]): Promise<void> {
  for (const [index, question] of questions.entries()) {
    const { allowed } = await usher.check(question);
    if (mays[index]?.() !== allowed) throw new Error(`kept question ${index} is answered otherwise`);
  }
}

/** Answers a second. */
function mayRate(mays: readonly KeptQuestion[], count: number): number {
  const rounds = Math.ceil(count / mays.length);
  let allowed = 0;
  const since = performance.now();
  // By index: what an iterator gives is an object.
  for (let round = 0; round < rounds; round++) for (let i = 0; i < mays.length; i++) if (mays[i]?.()) allowed++;
  const took = performance.now() - since;
  if (allowed === 0) throw new Error('nothing is allowed');
  return ((rounds * mays.length) / took) * 1000;
}

function peekRate(usher: LocalUsher, questions: readonly Question[], count: number): number {
  const rounds = Math.ceil(count / questions.length);
  const since = performance.now();
  for (let round = 0; round < rounds; round++) for (const question of questions) usher.peek(question);
  return ((rounds * questions.length) / (performance.now() - since)) * 1000;
}

async function checkRate(usher: LocalUsher, questions: readonly Question[], count: number): Promise<number> {
  const since = performance.now();
  for (let i = 0; i < count; i++) await usher.check(questions[i % questions.length] as Question);
  return (count / (performance.now() - since)) * 1000;
}

/** In ns; of ten in a row, since a reading of the clock takes as long as an answer. */
function middle(mays: readonly KeptQuestion[]): number {
  const took: number[] = [];
  for (let group = 0; group < 100_000; group++) {
    const from = (group * 10) % mays.length;
    const since = process.hrtime.bigint();
    for (let i = 0; i < 10; i++) mays[from + i]?.();
    took.push(Number(process.hrtime.bigint() - since) / 10);
  }
  return percentile(took, 0.5);
}

/** What the heap grows by for an answer, where nothing was collected meanwhile. */
function allocated(mays: readonly KeptQuestion[]): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const before = process.memoryUsage().heapUsed;
  const rounds = 10_000;
  mayRate(mays, rounds * mays.length);
  return Math.max(0, process.memoryUsage().heapUsed - before) / (rounds * mays.length);
}
