// Calls a method over gRPC by its name, with JSON for the messages: node call.ts SERVICE/METHOD REQUEST
import { createRegistry, fromJsonString, toJsonString } from '@bufbuild/protobuf';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { file_usher_permission_v1_permission } from '../../src/gen/usher/permission/v1/permission_pb.ts';

const [path = '', request = '{}'] = process.argv.slice(2);
const { USHER_GRPC: address = 'localhost:50051', USHER_API_KEY: key } = process.env;

const [service = '', name] = path.split('/');
const methods = createRegistry(file_usher_permission_v1_permission).getService(service)?.methods;
const method = methods?.find((one) => one.name === name && one.methodKind === 'unary');
if (method === undefined) throw new Error(`${path} is no method that answers once`);

const transport = createGrpcTransport({ baseUrl: `http://${address}` });
const header = key === undefined ? {} : { 'x-internal-api-key': key };
const question = fromJsonString(method.input, request);
const { message } = await transport.unary(method, undefined, 10_000, header, question);
console.log(toJsonString(method.output, message, { prettySpaces: 2 }));
