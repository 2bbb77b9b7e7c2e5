/** Server reflection, v1 and v1alpha, so that tools can ask this service without its .proto (contract 9). */

import { type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Server, ServerDuplexStream, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { PermissionService } from '../../gen/usher/permission/v1/permission_pb.ts';
import { healthService } from './health.ts';

type Stream = ServerDuplexStream<unknown, unknown>;

/** Adds the reflection services. The function answered ends their open streams, which else outlive a drain. */
export function addReflection(server: Server): () => void {
  const open = new Set<Stream>();
  const services = {
    root: { fileDescriptorProtos: filesOf(PermissionService.file) },
    health: withFiles(healthService),
  };
  const reflection = new ReflectionService(services as unknown as ConstructorParameters<typeof ReflectionService>[0]);
  reflection.addToServer({
    addService(service, implementation) {
      server.addService(service as ServiceDefinition, tracked(implementation as UntypedServiceImplementation, open));
    },
  });
  return () => {
    for (const stream of open) stream.end();
    open.clear();
  };
}

/** Reflection has one method a version, and it is a stream both ways. */
function tracked(implementation: UntypedServiceImplementation, open: Set<Stream>): UntypedServiceImplementation {
  const answer = implementation.ServerReflectionInfo as (stream: Stream) => void;
  return {
    ServerReflectionInfo: (stream: Stream) => {
      open.add(stream);
      stream.once('cancelled', () => open.delete(stream));
      answer(stream);
    },
  };
}

/** A file and all that it imports, as the bytes that @grpc/reflection reads: generated code holds them already. */
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
