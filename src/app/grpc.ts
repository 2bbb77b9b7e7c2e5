/** The gRPC listener, as the configuration has it. */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import type { Engine } from '../engine/engine.ts';
import type { Watch } from '../engine/watch.ts';
import type { Services } from '../gateway/services.ts';
import { watchHandle } from '../grpc/answering.ts';
import type { Identify } from '../grpc/ext-authz.ts';
import type { GrpcDoor } from '../grpc/listening.ts';
import type { GrpcMetrics } from '../grpc/metrics.ts';
import { ABOUT_BYTES } from '../grpc/narrowed-keys.ts';
import type { CheckCache } from '../grpc/request-cache.ts';
import { type AnsweringServer, createGrpcServer } from '../grpc/server.ts';
import type { PortConnections } from './connection-limits.ts';
import { connectionTimes, type TlsFiles } from './tls-files.ts';

export interface GrpcParts {
  engine: Engine;
  watch: Watch;
  keys: Services['keys'];
  clock: Clock;
  log: Logger;
  metrics: GrpcMetrics;
  checks: CheckCache;
  ports: PortConnections['grpc'];
  tls: TlsFiles['grpc'];
  further: readonly GrpcDoor[];
  /** Of bearer tokens. */
  identify: Identify;
}

/** The gRPC listener of a process that answers there. */
export function buildGrpc({ grpc }: Config, { keys, watch, identify, ports, ...parts }: GrpcParts): AnsweringServer {
  const watching = ABOUT_BYTES.get('Watch');
  return createGrpcServer({
    ...parts,
    ...ports,
    authorize: (key, about) => keys.admit(key, 'check', about),
    watch: { open: watchHandle(watch), authorize: (key) => keys.admit(key, 'watch', watching) },
    facts: { facts: parts.engine.served, watch, authorize: (key) => keys.admit(key, 'facts') },
    extAuthz: grpc.extAuthz ? { identify } : undefined,
    host: grpc.host,
    port: grpc.port,
    reflection: grpc.reflection,
    front: grpc.front,
    times: connectionTimes(grpc),
  });
}
