/** How many connections the ports of this process may have (docs/operations/secure.md#limits-of-connections). */

import type { Clock } from '../base/clock.ts';
import { ConnectionSlots, slotLimits } from '../base/connection-slots.ts';
import { connectionsPerPort, descriptorLimit } from '../base/descriptors.ts';
import { RefusedCounts } from '../base/refused-counts.ts';
import type { Logger, Registry } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { GuessLimits } from '../grpc/guesses.ts';
import { countRefused, type GrpcRefused, REFUSED } from '../grpc/refused.ts';
import { exposeConnections } from './connection-metrics.ts';

/** Files and connections of an embedded database. */
const EMBEDDED = 32;
/** LISTEN, migrations, and replicas for facts. */
const BESIDE_POOL = 7;

export interface PortConnections {
  readonly grpc: {
    readonly slots: ConnectionSlots;
    readonly refused: GrpcRefused;
    readonly guesses: GuessLimits | null;
  };
  readonly http: { readonly slots: ConnectionSlots; readonly refused: RefusedCounts<'connections'> };
}

interface PortParts {
  readonly log: Logger;
  readonly clock: Clock;
  /** Where their metrics are; null for a port that is not there. */
  readonly grpc: Registry;
  readonly gateway: Registry | null;
}

export function portConnections(config: Config, parts: PortParts): PortConnections {
  const { grpc, http } = connectionLimits(config, descriptorLimit());
  const refused = countRefused(parts.log, parts.clock);
  const refusedHttp = new RefusedCounts('gateway: refused', ['connections'], parts);
  const { rateLimit, trustProxy } = config.http;
  const guesses = rateLimit === null ? null : { perMinute: rateLimit, trustProxy };
  const ports = {
    grpc: { slots: new ConnectionSlots(slotLimits(grpc), () => refused.count(REFUSED.CONNECTIONS)), refused, guesses },
    http: {
      slots: new ConnectionSlots(slotLimits(http), () => refusedHttp.count('connections')),
      refused: refusedHttp,
    },
  };
  exposeConnections(parts.grpc, 'grpc', ports.grpc);
  if (parts.gateway !== null) exposeConnections(parts.gateway, 'gateway', ports.http);
  return ports;
}

/** @param descriptors how many this process may have open */
export function connectionLimits(config: Config, descriptors: number): { grpc: number; http: number } {
  const isEdge = config.upstream.address !== null;
  const isRpc = isEdge || config.roles.includes('rpc');
  const isGateway = !isEdge && config.roles.includes('gateway');
  const { url, poolSize } = config.database;
  const database = isEdge ? 0 : url === null ? EMBEDDED : poolSize + BESIDE_POOL;
  const each = connectionsPerPort(descriptors, database, Number(isRpc) + Number(isGateway));
  return { grpc: config.grpc.maxConnections ?? each, http: config.http.maxConnections ?? each };
}
