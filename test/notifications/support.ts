import { Rest, type RestAnswer } from '../support/rest.ts';
import type { RunningUsher } from '../support/usher.ts';

export const MANIFEST = `
application: { code: billing, name: Billing }
admins: [nora@example.com]
`;
export const OTHER = `
application: { code: shop, name: Shop }
admins: [olga@example.com]
`;

/** Two applications; each has the type `generic` from the first. */
export async function describeApplications(usher: RunningUsher): Promise<void> {
  for (const text of [MANIFEST, OTHER]) await usher.app.manifests.apply(text, { actor: 'cli' });
}

/** Sends as a backend does. */
export async function sendBySystem(
  usher: RunningUsher,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<RestAnswer> {
  const rest = await Rest.as(usher);
  const key = usher.app.localKey ?? '';
  return await rest.send('POST', '/api/internal/notifications', body, { 'x-internal-api-key': key, ...headers });
}

/** The id of a type of an application. */
export async function typeId(root: Rest, app: string, code: string): Promise<number> {
  const { body } = await root.get(`/api/applications/${app}/notification-types`);
  return body.data.find((type: { code: string }) => type.code === code).id;
}

/** What is stored to be delivered for a notification. */
export async function deliveriesOf(usher: RunningUsher, notification: number) {
  return await usher.app.database.read(
    async (tx) =>
      await tx.kysely
        .selectFrom('delivery')
        .select(['channel', 'content', 'status'])
        .where('notificationId', '=', notification)
        .orderBy('channel')
        .execute(),
  );
}
