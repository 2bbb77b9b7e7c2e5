import { Migration0001Policy } from './0001-policy.ts';

/** Every migration, in order. A name, once released, never changes: databases remember it. */
export const MIGRATIONS = [{ name: '0001-policy', class: Migration0001Policy }];
