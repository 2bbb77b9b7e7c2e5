/**
 * The rendering process: receives templates and jobs from the service, and has no access to secrets. It cannot be a thread: V8 ends
 * the whole process when one large allocation exceeds a thread's heap limit, and a template can cause that.
 */

import { Compiler, check, renderer } from './liquid.ts';
import type { FromProcess, RenderOutcome, ToProcess } from './messages.ts';
import { printedMembersOf } from './printed-members.ts';

/** Outcomes are sent in batches, at least this often. */
const SEND_EVERY_MS = 10;

const compiler = new Compiler();

function send(message: FromProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // Resolves also without the service: this process ends with its channel.
  if (process.send === undefined) resolve();
  else process.send(message, undefined, undefined, () => resolve());
  return promise;
}

async function render({ jobs, careful, timezone }: Extract<ToProcess, { kind: 'render' }>): Promise<void> {
  const renderJob = renderer(compiler, timezone);
  let outcomes: RenderOutcome[] = [];
  let sentAt = performance.now();
  for (const job of jobs) {
    outcomes.push(renderJob(job));
    if (!careful && performance.now() - sentAt < SEND_EVERY_MS) continue;
    await send({ kind: 'rendered', outcomes });
    outcomes = [];
    sentAt = performance.now();
  }
  if (outcomes.length > 0) await send({ kind: 'rendered', outcomes });
}

process.on('message', (message: ToProcess) => {
  if (message.kind === 'render') void render(message);
  else if (message.kind === 'check') void send({ kind: 'checked', faults: check(message.template) });
  else void send({ kind: 'analyzed', printed: printedMembersOf(compiler, message.template) });
});
// A terminal sends these signals to all of its processes; this one ends with the service's channel.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

void send({ kind: 'ready' });
