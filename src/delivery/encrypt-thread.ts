/** Encrypts pushes beside the event loop that answers checks: what this thread is sent, it sends back encrypted. */

import { parentPort } from 'node:worker_threads';
import { type Encrypted, encryptPush, type Recipient } from './encrypt.ts';
import { loadWebPush } from './packages.ts';

export interface Job {
  readonly id: number;
  readonly recipient: Recipient;
  readonly payload: string;
}

export type Done = { readonly id: number } & (Encrypted | { readonly problem: string });

/** Told together: each message costs both sides, and whoever waits for the first can send it meanwhile. */
const TOGETHER = 4;

function encrypt({ id, recipient, payload }: Job): Done {
  try {
    return { id, ...encryptPush(recipient, payload) };
  } catch (error) {
    return { id, problem: (error as Error).message };
  }
}

loadWebPush();
parentPort?.on('message', (jobs: readonly Job[]) => {
  for (let from = 0; from < jobs.length; from += TOGETHER) {
    const done = jobs.slice(from, from + TOGETHER).map(encrypt);
    parentPort?.postMessage(
      done,
      done.flatMap((one) => ('body' in one ? [one.body.buffer] : [])),
    );
  }
});
// Ready for work.
parentPort?.postMessage([]);
