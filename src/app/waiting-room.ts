/** The operators' listener of a process that waits for its database at its start: it lives, and is not ready. */

import type { Clock } from '../base/clock.ts';
import { unavailable } from '../base/errors.ts';
import { createRegistry, type Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { Gateway } from '../gateway/app.ts';
import type { Services } from '../gateway/services.ts';
import { gatewayDoors } from './doors.ts';
import { exposeProcess } from './metrics.ts';
import { scrape } from './scrape.ts';
import type { TlsFiles } from './tls-files.ts';

interface WaitingParts {
  readonly config: Config;
  readonly files: TlsFiles;
  readonly clock: Clock;
  readonly log: Logger;
  readonly version: string;
}

/** Null where no such listener is configured. */
export async function openWaitingRoom(parts: WaitingParts): Promise<Gateway | null> {
  const { config, files } = parts;
  if (config.ops === null) return null;
  const registry = createRegistry();
  exposeProcess(registry);
  const isWaiting = (): Promise<never> => Promise.reject(unavailable('The start waits for the database.'));
  const services: Pick<Services, 'registry' | 'metrics' | 'readiness'> = {
    registry,
    metrics: (inOpenMetrics) => scrape([registry], inOpenMetrics),
    readiness: { everything: isWaiting, checks: isWaiting },
  };
  const further = gatewayDoors(config, files).filter((door) => door.for === 'ops');
  const { createGateway } = await import('../gateway/app.ts');
  // The routes for operators use nothing else of the services while nothing is ready.
  const gateway = createGateway({ ...parts, further, services: services as Services, opsOnly: true });
  try {
    await gateway.start();
  } catch (error) {
    await gateway.close();
    throw error;
  }
  return gateway;
}
