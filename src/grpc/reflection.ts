/** Server reflection, v1 and v1alpha, for tools without the .proto (docs/reference/service.md#rpc). */

import { type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Server, ServerDuplexStream, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { file_google_rpc_error_details } from '../gen/google/rpc/error_details_pb.ts';
import { file_google_rpc_status } from '../gen/google/rpc/status_pb.ts';
import { Health } from '../gen/grpc/health/v1/health_pb.ts';

type Stream = ServerDuplexStream<unknown, unknown>;

type Package = ConstructorParameters<typeof ReflectionService>[0];

/** Of every server: health, and the details of errors, which tools look up by their names to show them. */
const USUAL: readonly DescFile[] = [Health.file, file_google_rpc_error_details, file_google_rpc_status];

/**
 * Adds the reflection services, for the services of these files and health. The returned function ends their open streams, which would
 * otherwise outlive a drain.
 */
export function addReflection(server: Server, files: readonly DescFile[]): () => void {
  const open = new Set<Stream>();
  const implementations = once(() => collect(createReflection(files)).map(({ implementation }) => implementation));
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

function createReflection(files: readonly DescFile[]): ReflectionService {
  const served = { files: { fileDescriptorProtos: encoded([...files, ...USUAL]) } };
  return new ReflectionService(served as unknown as Package);
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

/**
 * Files and their imports, as the bytes that @grpc/reflection reads. They are those of the compiler, which generated code contains:
 * what proto-loader makes of a file has no dependencies and other names of types, and protobuf-go refuses it.
 */
function encoded(roots: readonly DescFile[]): Uint8Array[] {
  const files = new Map<string, DescFile>();
  const visit = (one: DescFile) => {
    if (files.has(one.name)) return;
    files.set(one.name, one);
    one.dependencies.forEach(visit);
  };
  roots.forEach(visit);
  return [...files.values()].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
}
