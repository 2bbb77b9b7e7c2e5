/**
 * Reads a user event of the webhook (docs/reference/identity-provider.md#webhook). Type and address decide: a member that cannot be
 * stored is left out and named, so that a name that is too long never keeps a deactivated person active.
 */

import { z } from 'zod';
import { hasForbiddenCharacters, isLongerThan } from '../base/grammar.ts';
import { isStorableName } from '../directory/names.ts';
import type { UserEvent } from './lifecycle.ts';

/** What an event says beside its type and its address. */
export type EventDetails = Pick<UserEvent, 'names' | 'orgId' | 'occurredAt' | 'eventId' | 'leftOut'>;

const MAX_ID = 200;
const NAMES = ['firstName', 'lastName', 'displayName'] as const;
const Moment = z.iso.datetime({ offset: true });

interface Members {
  readonly user: Readonly<Record<string, unknown>>;
  readonly orgId: unknown;
  readonly eventId: unknown;
  readonly occurredAt: unknown;
}

/** The storable members; `leftOut` has the paths of the others. Absent ones and null say nothing. */
export function readDetails({ user, orgId, eventId, occurredAt }: Members): EventDetails {
  const leftOut: string[] = [];
  const take = <T>(path: string, value: unknown, read: (value: unknown) => T | null): T | null => {
    if (value === undefined || value === null) return null;
    const taken = read(value);
    if (taken === null) leftOut.push(path);
    return taken;
  };
  const names: Record<string, string> = {};
  for (const name of NAMES) {
    const taken = take(`user.${name}`, user[name], nameIn);
    if (taken !== null) names[name] = taken;
  }
  return {
    names,
    orgId: take('orgId', orgId, (value) => (value === '' ? '' : idIn(value))) ?? '',
    eventId: take('eventId', eventId, idIn),
    occurredAt: take('occurredAt', occurredAt, momentIn),
    leftOut,
  };
}

/** A blank name is storable: it names nothing. */
function nameIn(value: unknown): string | null {
  return typeof value === 'string' && (value.trim() === '' || isStorableName(value)) ? value : null;
}

function idIn(value: unknown): string | null {
  const fits = typeof value === 'string' && value !== '' && !isLongerThan(value, MAX_ID);
  return fits && !hasForbiddenCharacters(value) ? value : null;
}

function momentIn(value: unknown): Date | null {
  const read = Moment.safeParse(value);
  return read.success ? new Date(read.data) : null;
}
