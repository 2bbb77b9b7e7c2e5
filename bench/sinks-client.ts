/** Where mails and pushes go in the scenarios of notifications: `sinks.ts` as a child. */
import type { ChildProcess } from 'node:child_process';
import { giveWay, pidOf, spawnPinned, stop } from './processes.ts';

export interface Counts {
  mails: number;
  pushes: number;
}

export class Sinks {
  readonly smtpPort: number;
  readonly pushPort: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, { smtp, push }: { smtp: number; push: number }) {
    this.#child = child;
    this.smtpPort = smtp;
    this.pushPort = push;
  }

  static async start(): Promise<Sinks> {
    const child = spawnPinned(null, [new URL('./sinks.ts', import.meta.url).pathname], { ipc: true });
    return new Sinks(child, await next<{ smtp: number; push: number }>(child));
  }

  /** What has arrived so far. */
  async counts(): Promise<Counts> {
    const answer = next<Counts>(this.#child);
    this.#child.send('counts');
    return await answer;
  }

  /** They have a machine of their own elsewhere, too: see `Lab.postgresGivesWay`. */
  giveWay(): void {
    giveWay(pidOf(this.#child));
  }

  async stop(): Promise<void> {
    await stop(this.#child);
  }
}

function next<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const gone = (): void => reject(new Error('the sinks ended'));
    child.once('exit', gone);
    child.once('message', (message: T) => {
      child.off('exit', gone);
      resolve(message);
    });
  });
}
