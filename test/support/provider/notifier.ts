/** The provider's default notifier: one mail after the other for the whole instance, each again until it is taken. */

/** Tries of a refused mail before it is dropped (facts: identity provider, section 5). */
const TRIES = 10;

/** Delivers the bodies in turn; the statuses of all tries, in order. The pauses between them are left out. */
export async function notifyInTurn(
  bodies: readonly string[],
  deliver: (body: string) => Promise<number>,
): Promise<number[]> {
  const statuses: number[] = [];
  for (const body of bodies) {
    for (let tries = 1; tries <= TRIES; tries++) {
      const status = await deliver(body);
      statuses.push(status);
      if (status < 300) break;
    }
  }
  return statuses;
}
