/**
 * The floor of the transport: grpc-js with a constant buffer in and out. It decodes nothing, decides nothing and answers
 * the same bytes to every call, with the options that the service gives its server. Arguments: the port, and for TLS the files of the
 * certificate and its key.
 */
import { readFileSync } from 'node:fs';
import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { CONSTANT_ANSWER } from './wire.ts';

const server = new Server({
  'grpc.max_receive_message_length': 1024 * 1024,
  'grpc.max_concurrent_streams': 256,
  'grpc-node.max_session_memory': 16,
  'grpc.max_connection_age_ms': 300_000,
  'grpc.max_connection_age_grace_ms': 20_000,
  'grpc.max_connection_idle_ms': 600_000,
  'grpc.keepalive_time_ms': 30_000,
});

function method(name: string) {
  return {
    path: `/usher.permission.v1.PermissionService/${name}`,
    requestStream: false,
    responseStream: false,
    requestSerialize: (message: Buffer) => message,
    requestDeserialize: (bytes: Buffer) => bytes,
    responseSerialize: (message: Buffer) => message,
    responseDeserialize: (bytes: Buffer) => bytes,
  };
}

function answer(_call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void {
  callback(null, CONSTANT_ANSWER);
}

server.addService(
  { Check: method('Check'), BulkCheck: method('BulkCheck'), Effective: method('Effective') },
  { Check: answer, BulkCheck: answer, Effective: answer },
);

const [, , port = '0', cert, key] = process.argv;
const credentials =
  cert === undefined || key === undefined
    ? ServerCredentials.createInsecure()
    : ServerCredentials.createSsl(null, [{ cert_chain: readFileSync(cert), private_key: readFileSync(key) }]);
server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) => {
  if (error) throw error;
  console.log(`bare grpc-js on ${bound}`);
});
process.on('SIGTERM', () => process.exit(0));
