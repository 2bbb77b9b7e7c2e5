/** What the example asks for itself: tokens of its own server, and the service's administration. */

/** Where the service is: serve.js puts it in. */
export const USHER_URL = String(import.meta.env.VITE_USHER_URL).replace(/\/+$/, '');

const kept = new Map<string, string>();

/** A token of somebody, from the example's own server, which makes them for development. */
export async function tokenOf(email: string, renew: boolean): Promise<string | null> {
  const known = kept.get(email);
  if (known !== undefined && !renew) return known;
  const response = await fetch(`/token?email=${encodeURIComponent(email)}`);
  if (!response.ok) return null;
  const { token } = (await response.json()) as { token: string };
  kept.set(email, token);
  return token;
}

/** A request of an administrator. Answers what happened, in words. */
export async function administer(email: string, method: string, path: string, body?: unknown): Promise<string> {
  const response = await fetch(USHER_URL + path, {
    method,
    headers: { authorization: `Bearer ${await tokenOf(email, false)}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (response.ok) return 'Done.';
  const { message } = (await response.json()) as { message: string };
  return message;
}
