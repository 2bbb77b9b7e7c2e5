/**
 * The rendering process: takes templates and jobs from the service, and holds nothing worth having. A thread would not do: V8
 * ends the whole process when a thread's heap limit is overrun by one large allocation, which a template can ask for.
 */

import { Compiler, check, renderer } from './liquid.ts';
import type { FromProcess, RenderOutcome, ToProcess } from './messages.ts';
import { shownOf } from './shown.ts';

/** Outcomes are told together, but not later than this. */
const TELL_EVERY_MS = 10;

const compiler = new Compiler();

function tell(message: FromProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // Resolved too when the service is gone: this process ends by itself then, with its channel.
  if (process.send === undefined) resolve();
  else process.send(message, undefined, undefined, () => resolve());
  return promise;
}

async function render({ jobs, careful }: Extract<ToProcess, { kind: 'render' }>): Promise<void> {
  const renderJob = renderer(compiler);
  let outcomes: RenderOutcome[] = [];
  let told = performance.now();
  for (const job of jobs) {
    outcomes.push(renderJob(job));
    if (!careful && performance.now() - told < TELL_EVERY_MS) continue;
    await tell({ kind: 'rendered', outcomes });
    outcomes = [];
    told = performance.now();
  }
  if (outcomes.length > 0) await tell({ kind: 'rendered', outcomes });
}

process.on('message', (message: ToProcess) => {
  if (message.kind === 'render') void render(message);
  else if (message.kind === 'check') void tell({ kind: 'checked', faults: check(message.template) });
  else void tell({ kind: 'analysed', shown: shownOf(compiler, message.template) });
});
// A terminal sends these to all of its processes; this one ends when the service lets it go.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

void tell({ kind: 'ready' });
