/**
 * Reads an event as the provider's own event actions send it (docs/reference/identity-provider.md#native-events). Type and user decide:
 * what else cannot be stored is left out and named.
 */

import { z } from 'zod';
import { validationFailed } from '../base/errors.ts';
import { hasForbiddenCharacters, isLongerThan, normalizeEmail } from '../base/grammar.ts';
import { hasMembers } from '../base/members.ts';
import { zodIssues } from '../base/zod-issues.ts';
import type { Matter } from '../persistence/provider/native-events.ts';
import type { LifecycleEvent } from './lifecycle.ts';
import { readDetails } from './webhook-event.ts';

/** What an event moves: an event of the webhook, or the address, which is noted alone. */
type Moves =
  | { readonly matter: Matter; readonly event: LifecycleEvent }
  | { readonly matter: 'email'; readonly event: null };

const CREATED: Moves = { matter: 'state', event: 'user.created' };
const DEACTIVATED: Moves = { matter: 'state', event: 'user.deactivated' };
const REACTIVATED: Moves = { matter: 'state', event: 'user.reactivated' };

const TYPES: ReadonlyMap<string, Moves> = new Map<string, Moves>([
  ['user.human.added', CREATED],
  ['user.human.selfregistered', CREATED],
  ['user.human.initialization.check.succeeded', CREATED],
  ['user.human.email.verified', CREATED],
  ['user.human.profile.changed', { matter: 'names', event: 'user.updated' }],
  ['user.human.email.changed', { matter: 'email', event: null }],
  ['user.deactivated', DEACTIVATED],
  ['user.locked', DEACTIVATED],
  ['user.reactivated', REACTIVATED],
  ['user.unlocked', REACTIVATED],
  ['user.removed', { matter: 'state', event: 'user.removed' }],
]);

/** The events that set-up subscribes to. */
export const NATIVE_EVENTS: readonly string[] = [...TYPES.keys()];

export interface NativeEvent {
  readonly eventType: string;
  readonly moves: Moves;
  readonly userId: string;
  readonly orgId: string;
  /** Null where the event has none that is a whole number. */
  readonly sequence: number | null;
  readonly createdAt: Date | null;
  /** The address in the event, in normal form; null without a storable one. */
  readonly email: string | null;
  readonly names: { firstName?: string; lastName?: string; displayName?: string };
  readonly leftOut: readonly string[];
}

const Event = z.looseObject({
  event_type: z.string().min(1, 'must not be empty').max(200, 'must be at most 200 characters'),
});
const ofUser = z.looseObject({
  aggregateID: z
    .string()
    .min(1, 'must not be empty')
    .refine((id) => !isLongerThan(id, 200) && !hasForbiddenCharacters(id), 'must be the ID of a user'),
});
const Sequence = z.union([z.int().nonnegative(), z.string().regex(/^\d{1,15}$/)]);

/** Null for a type that moves nothing here, with its name. Throws VALIDATION_FAILED without a usable type or user. */
export function readNativeEvent(json: unknown): { eventType: string; event: NativeEvent | null } {
  const { event_type: eventType, ...body } = parse(Event, json);
  const moves = TYPES.get(eventType);
  if (moves === undefined) return { eventType, event: null };
  const { aggregateID: userId } = parse(ofUser, body);
  const payload = membersOf(body.event_payload);
  const members = { user: payload, orgId: body.resourceOwner, eventId: undefined, occurredAt: body.created_at };
  const { leftOut, names, orgId, occurredAt } = readDetails(members);
  const sequence = Sequence.safeParse(body.sequence);
  const address = payload.email;
  const email = typeof address === 'string' ? normalizeEmail(address) : null;
  const missing = [
    ...(leftOut ?? []).map((path) => PATHS[path] ?? path.replace(/^user\./, 'event_payload.')),
    ...(body.sequence !== undefined && !sequence.success ? ['sequence'] : []),
    ...(address !== undefined && address !== null && email === null ? ['event_payload.email'] : []),
  ];
  return {
    eventType,
    event: {
      eventType,
      moves,
      userId,
      orgId,
      sequence: sequence.success ? Number(sequence.data) : null,
      createdAt: occurredAt,
      email,
      names: names as NativeEvent['names'],
      leftOut: missing,
    },
  };
}

/** The event as it is kept, and read again by `readNativeEvent`. */
export function storableEvent({ eventType, userId, orgId, sequence, createdAt, email, names }: NativeEvent): unknown {
  return {
    event_type: eventType,
    aggregateID: userId,
    resourceOwner: orgId,
    ...(sequence === null ? {} : { sequence }),
    ...(createdAt === null ? {} : { created_at: createdAt.toISOString() }),
    event_payload: { ...names, ...(email === null ? {} : { email }) },
  };
}

/** The provider's names of members that the webhook calls otherwise. */
const PATHS: Readonly<Record<string, string>> = { orgId: 'resourceOwner', occurredAt: 'created_at' };

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return hasMembers(value) && !Array.isArray(value) ? value : {};
}

function parse<S extends z.ZodType>(schema: S, json: unknown): z.output<S> {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw validationFailed(zodIssues(parsed.error.issues, schema));
}
