/** Server reflection, v1 and v1alpha, for tools without the .proto (docs/reference/service.md#rpc). */

import { type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Server, ServerDuplexStream, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { PermissionService } from '../gen/usher/permission/v1/permission_pb.ts';
import { healthService } from './health.ts';

type Stream = ServerDuplexStream<unknown, unknown>;

type Package = ConstructorParameters<typeof ReflectionService>[0];

/** Adds the reflection services. The returned function ends their open streams, which would otherwise outlive a drain. */
export function addReflection(server: Server): () => void {
  const open = new Set<Stream>();
  const implementations = once(() => collect(createReflection()).map(({ implementation }) => implementation));
  // The definitions are known without the descriptor files, which are slow to read: the first call reads those, not the start.
  for (const [version, { service }] of collect(new ReflectionService({})).entries()) {
    server.addService(
      service,
      tracked(() => implementations()[version] as UntypedServiceImplementation, open),
    );
  }
  return () => {
    for (const stream of open) stream.end();
    open.clear();
  };
}

function createReflection(): ReflectionService {
  const services = {
    root: { fileDescriptorProtos: filesOf(PermissionService.file) },
    health: withFiles(healthService),
  };
  return new ReflectionService(services as unknown as Package);
}

interface Served {
  service: ServiceDefinition;
  implementation: UntypedServiceImplementation;
}

/** The two versions of a reflection service, as it would add them to a server. */
function collect(reflection: ReflectionService): Served[] {
  const served: Served[] = [];
  reflection.addToServer({
    addService: (service, implementation) =>
      served.push({
        service: service as ServiceDefinition,
        implementation: implementation as UntypedServiceImplementation,
      }),
  });
  return served;
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Each version of reflection has one method, a stream in both directions. */
function tracked(implementation: () => UntypedServiceImplementation, open: Set<Stream>): UntypedServiceImplementation {
  return {
    ServerReflectionInfo: (stream: Stream) => {
      open.add(stream);
      stream.once('cancelled', () => open.delete(stream));
      const answer = implementation().ServerReflectionInfo as (stream: Stream) => void;
      answer(stream);
    },
  };
}

/** A file and its imports, as the bytes that @grpc/reflection reads: generated code already contains them. */
function filesOf(file: DescFile): Uint8Array[] {
  const files = new Map<string, DescFile>();
  const visit = (one: DescFile) => {
    if (files.has(one.name)) return;
    files.set(one.name, one);
    one.dependencies.forEach(visit);
  };
  visit(file);
  return [...files.values()].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
}

/** proto-loader keeps the files of a service at the types of its methods. */
function withFiles(service: ServiceDefinition): { fileDescriptorProtos: unknown[] } {
  const method = Object.values(service)[0] as unknown as { requestType?: { fileDescriptorProtos?: unknown[] } };
  return { fileDescriptorProtos: method.requestType?.fileDescriptorProtos ?? [] };
}
