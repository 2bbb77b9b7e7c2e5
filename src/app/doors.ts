/** The addresses of `listeners`, as the parts that open them take them (docs/guides/listeners.md). */

import { type ListenAddress, reachableText } from '../base/listening.ts';
import type { Config } from '../config/config.ts';
import { type Door, doorsOf, isOpenHere, type ListenerKind } from '../config/listeners.ts';
import type { FurtherDoor } from '../gateway/app.ts';
import type { GrpcDoor } from '../grpc/listening.ts';
import type { TlsFiles } from './tls-files.ts';

/** A further listener that is open, for the log and for people: a URL, `host:port` or `unix:/path`. */
export interface OpenDoor {
  readonly for: ListenerKind;
  readonly at: string;
}

type Listening = Pick<Config, 'listeners' | 'roles' | 'upstream'>;

function doorsHere(config: Listening, kind: ListenerKind): Door[] {
  return isOpenHere(config, kind) ? doorsOf(config.listeners, kind) : [];
}

const tlsOf = ({ index }: Door, files: TlsFiles) => files.listeners?.[index];

/** Those that the gateway opens, the operators' last. */
export function gatewayDoors(config: Listening, files: TlsFiles): FurtherDoor[] {
  return (['http', 'ops'] as const).flatMap((kind) =>
    doorsHere(config, kind).map((door) => {
      const { serves, trustProxy } = door.listener;
      return { for: kind, at: door.at, tls: tlsOf(door, files), serves, trustProxy, key: door.key };
    }),
  );
}

export function grpcDoors(config: Listening, files: TlsFiles): GrpcDoor[] {
  return doorsHere(config, 'grpc').map((door) => ({ at: door.at, tls: tlsOf(door, files), key: door.key }));
}

/** What a start opened beside the first listeners: URLs of the gateway's, in the order of `gatewayDoors`, and gRPC's addresses. */
export function openDoors(config: Listening, urls: readonly string[], grpc: readonly ListenAddress[]): OpenDoor[] {
  const kinds = gatewayDoors(config, {}).map((door) => door.for);
  return [
    ...urls.map((at, index) => ({ for: kinds[index] ?? 'http', at })),
    ...grpc.map((at) => ({ for: 'grpc' as const, at: reachableText(at) })),
  ];
}
