import type { ServiceDefinition, UntypedHandleCall, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { Authorize } from './bridge.ts';
import { METHODS } from './metrics.ts';

/** A method as a listener serves it. */
export interface ServedMethod {
  /** On the wire. */
  readonly name: string;
  /** In METHODS, where that is another name. */
  readonly counted?: string;
  readonly streams: boolean;
  /** Whom it is for. The door asks before it reads a message, and the handler once more. */
  readonly authorize: Authorize;
  readonly handler: UntypedHandleCall;
}

/** A method as the door sees it, before a byte of a message is kept. */
export interface Entrance {
  /** Its place in METHODS; -1 for methods that are not counted there. */
  readonly index: number;
  /** Null for a method that is open to everybody. */
  readonly authorize: Authorize | null;
  /** Whether callers may send several messages. */
  readonly many: boolean;
}

/** By path, `/usher.permission.v1.PermissionService/Check`. */
export type Entrances = ReadonlyMap<string, Entrance>;

/** grpc-js passes the bytes through; codecs read and write them. */
export function serviceOf(
  typeName: string,
  methods: readonly ServedMethod[],
): [ServiceDefinition, UntypedServiceImplementation] {
  const bytes = (message: Buffer) => message;
  const definitionOf = ({ name, streams }: ServedMethod) => ({
    path: `/${typeName}/${name}`,
    requestStream: false,
    responseStream: streams,
    requestSerialize: bytes,
    requestDeserialize: bytes,
    responseSerialize: bytes,
    responseDeserialize: bytes,
  });
  return [
    Object.fromEntries(methods.map((method) => [method.name, definitionOf(method)])),
    Object.fromEntries(methods.map(({ name, handler }) => [name, handler])),
  ];
}

/** The entrances of a service. Methods of a package, which are not among `methods`, are open. */
export function entrancesOf(
  service: ServiceDefinition,
  methods: readonly ServedMethod[] = [],
): readonly (readonly [path: string, Entrance])[] {
  return Object.entries(service).map(([name, { path, requestStream }]) => {
    const ours = methods.find((method) => method.name === name);
    const index = ours === undefined ? -1 : METHODS.indexOf(ours.counted ?? name);
    return [path, { index, authorize: ours?.authorize ?? null, many: requestStream }];
  });
}
