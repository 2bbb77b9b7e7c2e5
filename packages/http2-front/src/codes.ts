/** The codes of gRPC that the front gives by itself (https://grpc.github.io/grpc/core/md_doc_statuscodes.html). */
export const Code = {
  OK: 0,
  CANCELLED: 1,
  DEADLINE_EXCEEDED: 4,
  RESOURCE_EXHAUSTED: 8,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
} as const;
