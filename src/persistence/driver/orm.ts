import { MikroORM } from '@mikro-orm/core';
import { Migrator } from '@mikro-orm/migrations';
import type { AbstractSqlConnection, AbstractSqlDriver } from '@mikro-orm/sql';
import type { Dialect, Kysely } from 'kysely';
import type { Logger } from '../../base/telemetry.ts';
import { entities, type Schema } from '../entities/schema.ts';
import { MIGRATIONS } from '../migrations/list.ts';
import { PropertyNames } from './property-names.ts';

export type Orm = MikroORM<AbstractSqlDriver>;

interface OrmOptions {
  kind: 'postgresql' | 'pglite';
  dialect: Dialect;
  /** The database's name: MikroORM's migrator checks that it exists. */
  name: string;
  log: Logger;
}

/** MikroORM over our own dialect: entities, migrations, transactions. It connects with the first statement. */
export async function openOrm({ kind, dialect, name, log }: OrmOptions): Promise<Orm> {
  const driver =
    kind === 'postgresql'
      ? (await import('@mikro-orm/postgresql')).PostgreSqlDriver
      : (await import('@mikro-orm/pglite')).PgliteDriver;
  return await MikroORM.init<AbstractSqlDriver>({
    // biome-ignore lint/suspicious/noExplicitAny: the two drivers' entity managers differ in type, not in the parts used here.
    driver: driver as any,
    dbName: name,
    entities,
    // A function, because MikroORM copies plain objects.
    driverOptions: () => dialect,
    ensureDatabase: false,
    extensions: [Migrator],
    migrations: {
      migrationsList: MIGRATIONS,
      transactional: true,
      allOrNothing: true,
      snapshot: false,
      silent: true,
    },
    logger: (message) => log.debug(message),
  });
}

/** The one connection of an ORM, which begins and ends transactions. */
export function connectionOf(orm: Orm): AbstractSqlConnection {
  return orm.em.getDriver().getConnection();
}

/** Statements outside of `Transactions`, each a transaction of its own, by the names of properties. */
export function kyselyOf(orm: Orm): Kysely<Schema> {
  return connectionOf(orm).getClient<Schema>().withPlugin(new PropertyNames(orm.config.getNamingStrategy()));
}
