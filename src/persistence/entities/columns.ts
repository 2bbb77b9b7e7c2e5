import { p } from '@mikro-orm/core';

/** What many tables share. Builders are functions: MikroORM keeps the object that it is given. */

/** `bigint generated always as identity primary key`. */
export const identity = () => p.bigint('number').primary().autoincrement();

/** A bigint of another row. Numbers, since identities stay below 2^53 (drivers refuse larger ones). */
export const reference = () => p.bigint('number');

/** `timestamptz(3) not null default now()`. */
export const stamp = () => p.datetime(3).defaultRaw('now()');
