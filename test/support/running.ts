import type { PgBouncer } from './pgbouncer.ts';
import type { PostgresServer } from './postgres-server.ts';

/** What global-setup.ts hands to global-teardown.ts: both run in jest's own process. */
export const running: {
  current: { server: PostgresServer; scratch: string; pooler: PgBouncer | undefined } | undefined;
} = { current: undefined };
