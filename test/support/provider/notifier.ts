/** What the provider sends by itself: e-mails in turn, and bodies with the headers that it signs them by. */

import { createHmac } from 'node:crypto';
import { request } from 'node:http';

/** Tries of a refused mail before it is dropped (facts: identity provider, section 5). */
const TRIES = 10;

/**
 * Delivers the bodies as the default notifier does, one after the other for the whole instance: a refused mail ends its batch, which comes again
 * from its beginning, with the same bodies. The statuses of all tries, in order. The pauses between them are left out.
 */
export async function notifyInTurn(
  bodies: readonly string[],
  deliver: (body: string) => Promise<number>,
): Promise<number[]> {
  const statuses: number[] = [];
  const refusals = new Map<string, number>();
  const isDropped = (body: string): boolean => refusals.get(body) === TRIES;
  for (let isOver = false; !isOver; ) {
    isOver = true;
    for (const body of bodies) {
      if (isDropped(body)) continue;
      const status = await deliver(body);
      statuses.push(status);
      if (status < 300) continue;
      refusals.set(body, (refusals.get(body) ?? 0) + 1);
      isOver = false;
      break;
    }
  }
  return statuses;
}

export interface SignedAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  readonly body: any;
}

/** Sends the bytes of a body with the recorded headers, names as they stand on the wire. */
export async function sendSigned(url: string, body: string, key: string): Promise<SignedAnswer> {
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', key).update(`${t}.${body}`).digest('hex');
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': 'Go-http-client/1.1',
    'Content-Length': Buffer.byteLength(body),
    'Zitadel-Signature': `t=${t},v1=${v1}`,
  };
  return await new Promise((resolve, reject) => {
    const call = request(url, { method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) });
      });
    });
    call.on('error', reject).end(body);
  });
}
