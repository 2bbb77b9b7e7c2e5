import { p } from '@mikro-orm/core';

/** Columns of many tables. Builders are functions, because MikroORM keeps the object that it gets. */

/** `bigint generated always as identity primary key`. */
export const identity = () => p.bigint('number').primary().autoincrement();

/** The id of another row. A number: identities stay below 2^53 (the drivers refuse larger ones). */
export const reference = () => p.bigint('number');

/** `timestamptz(3) not null default now()`. */
export const stamp = () => p.datetime(3).defaultRaw('now()');

/**
 * When a grant begins and when it has ended (docs/reference/time.md): it counts at t when starts_at ≤ t < ends_at; null: without a bound.
 * As properties of an entity: `...grantWindow()`.
 */
export const grantWindow = () => ({
  startsAt: p.datetime(3).nullable(),
  endsAt: p.datetime(3).nullable(),
});
