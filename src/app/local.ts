/** What commands do without a service: on the configured database and data directory. Each part is loaded when it is asked for. */

import type { LocalWork } from '../cli/io.ts';

export const LOCAL: LocalWork = {
  signToken: async ({ dataDir, clock }, email, seconds) => {
    const { openLocalIssuer } = await import('../identity/local-issuer.ts');
    return await (await openLocalIssuer({ dataDir, clock })).sign(email, {}, seconds);
  },
  migrate: async ({ config, dataDir, clock }) => {
    const [{ migrate }, { createLogger }] = await Promise.all([
      import('../persistence/open.ts'),
      import('../base/telemetry.ts'),
    ]);
    const { url, directUrl } = config.database;
    return await migrate({ url, directUrl, dataDir, clock, log: createLogger('silent') });
  },
  finishUpgrade: async (place, force) => await (await import('./local-database.ts')).finish(place, force),
  backUp: async ({ dataDir, clock }, backup) => {
    const { backUpAnyway } = await import('../persistence/operations/backup-requests.ts');
    return await backUpAnyway({ dataDir, clock, ...backup });
  },
  restore: async ({ dataDir, clock }, backup) => {
    const { restore } = await import('../persistence/operations/backup.ts');
    return await restore({ dataDir, clock, ...backup });
  },
  reincarnate: async (place, reason) => await (await import('./local-database.ts')).reincarnate(place, reason),
  addSuperadmin: async (place, email, subject, reason) =>
    await (await import('./local-database.ts')).add(place, email, subject, reason),
  removeSuperadmin: async (place, email, reason) =>
    await (await import('./local-database.ts')).remove(place, email, reason),
  superadmins: async (place) => await (await import('./local-database.ts')).list(place),
};
