/**
 * What cached facts take of the heap, in bytes: measured in V8 on 64 bits (test/engine/fact-sizes.test.ts measures again), with the
 * places in the maps that hold them. Estimates: a map grows by doubling.
 */

import type { Policy } from './policy.ts';
import type { Level, MemberFacts } from './types.ts';

/** The least that a person takes. */
export const PERSON = 430;
const MEMBER = 300;
const ROLE = 8;
const OVERRIDES = 370;
const LEVELS = 160;
const OVERRIDE = 24;
const POLICY = 1000;
const PERMISSION = 200;
const LEVEL = 24;

/** With an empty map of members. */
export function sizeOfPerson(email: string): number {
  return PERSON + email.length;
}

/** Without overrides. */
export function sizeOfMember({ roleIds }: MemberFacts): number {
  return MEMBER + ROLE * roleIds.length;
}

/** Of one record. */
export function sizeOfOverrides(resourceId: string, levels: ReadonlyMap<number, Level>): number {
  return OVERRIDES + resourceId.length + (levels.size === 0 ? 0 : LEVELS + OVERRIDE * levels.size);
}

export function sizeOfPolicy({ ordered }: Policy): number {
  return ordered.reduce((sum, { levels }) => sum + PERMISSION + LEVEL * levels.size, POLICY);
}
