/** Makes the calls of cases.ts with grpc-js: bin/node test/interop/grpc-js.ts ADDRESS KEY < cases.json, a line of JSON for each. */
import { text } from 'node:stream/consumers';
import { Client, compressionAlgorithms, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import type { Case, Outcome } from './cases.ts';

const [address = '', key = ''] = process.argv.slice(2);
const raw = (message: Buffer) => message;
const options = { 'grpc.max_receive_message_length': 16 * 1024 * 1024 };
const plain = new Client(address, credentials.createInsecure(), options);
const gzip = new Client(address, credentials.createInsecure(), {
  ...options,
  'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
});

for (const one of JSON.parse(await text(process.stdin)) as Case[]) {
  process.stdout.write(`${JSON.stringify(await run(one))}\n`);
}
plain.close();
gzip.close();

async function run(one: Case): Promise<Outcome> {
  const client = one.gzip ? gzip : plain;
  const metadata = new Metadata();
  metadata.set('x-internal-api-key', one.key === 'good' ? key : 'a-key-that-nobody-has');
  if (one.requestId !== '') metadata.set('x-request-id', one.requestId);
  const request = Buffer.from(one.request, 'hex');
  const given = { deadline: Date.now() + one.timeoutMs };
  const sizes: number[] = [];
  const unary = (): Promise<void> =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(one.path, raw, raw, request, metadata, given, (error, answer) => {
        if (error !== null) reject(error);
        else resolve(void sizes.push(answer?.length ?? 0));
      });
    });
  const stream = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const call = client.makeServerStreamRequest(one.path, raw, raw, request, metadata, given);
      let isOver = false;
      const end = (): void => {
        isOver = true;
        call.cancel();
      };
      call.on('data', (message: Buffer) => {
        if (isOver) return;
        sizes.push(message.length);
        if (one.kind === 'stream' && sizes.length === one.count) end();
      });
      call.on('error', (error: ServiceError) => (isOver && error.code === 1 ? resolve() : reject(error)));
      call.on('end', () => reject(new Error('the stream ended by itself')));
      if (one.kind === 'stream' && one.count === 0) end();
    });
  const outcome = { name: one.name, status: 0, hasMessage: false, hasDetails: false, requestId: '' };
  try {
    if (one.kind === 'stream' || one.kind === 'deadline') await stream();
    else await Promise.all(Array.from({ length: one.count }, unary));
  } catch (thrown) {
    const { code, details, metadata: trailers } = thrown as ServiceError;
    Object.assign(outcome, {
      status: code,
      hasMessage: details !== '',
      hasDetails: trailers.get('grpc-status-details-bin').length > 0,
      requestId: String(trailers.get('x-request-id')[0] ?? ''),
    });
  }
  return { ...outcome, messages: sizes.length, longest: Math.max(0, ...sizes) };
}
