import type { ServiceDefinition, UntypedHandleCall, UntypedServiceImplementation } from '@grpc/grpc-js';

/** A method as a listener serves it. */
export interface ServedMethod {
  /** On the wire. */
  readonly name: string;
  readonly streams: boolean;
  readonly handler: UntypedHandleCall;
}

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
