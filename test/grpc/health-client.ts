import type { Client, ClientReadableStream } from '@grpc/grpc-js';
import { service as health } from 'grpc-health-check';

interface Definition {
  path: string;
  requestSerialize: (message: object) => Buffer;
  responseDeserialize: (bytes: Buffer) => { status: string; statuses?: Record<string, { status: string }> };
}
const definitions = health as unknown as Record<'Check' | 'Watch' | 'List', Definition>;

export function askHealth(client: Client, service: string, method: 'Check' | 'List' = 'Check') {
  const { path, requestSerialize, responseDeserialize } = definitions[method];
  return new Promise<ReturnType<Definition['responseDeserialize']>>((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service }, (error, answer) => {
      if (error) reject(error);
      else resolve(answer as never);
    });
  });
}

/** A watch, and all that it has said so far. */
export function watchHealth(
  client: Client,
  service: string,
): { said: string[]; stream: ClientReadableStream<unknown> } {
  const { path, requestSerialize, responseDeserialize } = definitions.Watch;
  const stream = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service });
  const said: string[] = [];
  stream.on('data', (answer: { status: string }) => said.push(answer.status));
  stream.on('end', () => said.push('ended'));
  stream.on('error', (error) => said.push(error.message));
  return { said, stream };
}
