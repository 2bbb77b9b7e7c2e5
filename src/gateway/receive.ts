/** Reading a request body: in the order 413, 415, 400, and never a byte more than the limit kept. */

import type { IncomingMessage } from 'node:http';
import { UsherError } from '../errors.ts';
import { type BodyFormat, checkMedia } from './bodies.ts';
import { CallerGone, type Exchange } from './exchange.ts';

/** The body of a request as its format's value. Throws PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE or VALIDATION_FAILED. */
export async function receiveBody<T>(exchange: Exchange, format: BodyFormat<T>): Promise<T> {
  const { req } = exchange;
  if (!announcesBody(req)) return format.parse(undefined, '');
  if (Number(req.headers['content-length'] ?? 0) > format.maxBytes) throw tooLarge(format.maxBytes);
  const encoding = exchange.header('content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new UsherError('UNSUPPORTED_MEDIA_TYPE', 'Send the body uncompressed.');
  }
  const media = checkMedia(exchange.header('content-type'), format.media);
  const bytes = await readBytes(exchange, format.maxBytes);
  return format.parse(bytes.length === 0 ? undefined : bytes, media);
}

function announcesBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  return (length !== undefined && Number(length) !== 0) || req.headers['transfer-encoding'] !== undefined;
}

/** The whole body; PAYLOAD_TOO_LARGE as soon as a byte over the limit has come. */
export function readBytes(exchange: Exchange, maxBytes: number): Promise<Buffer> {
  const { req, res } = exchange;
  // The server answers `Expect: 100-continue` here, so that a refused caller never sends its 32 MiB.
  if (req.headers.expect !== undefined && !res.headersSent) res.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const stop = (): void => {
      req.off('data', onData);
      req.off('end', onEnd);
      req.off('close', onClose);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxBytes) {
        stop();
        req.pause();
        reject(tooLarge(maxBytes));
        return;
      }
      chunks.push(chunk);
    };
    const onEnd = (): void => {
      stop();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
    };
    const onClose = (): void => {
      stop();
      reject(new CallerGone());
    };
    req.on('data', onData);
    req.on('end', onEnd);
    req.on('close', onClose);
  });
}

function tooLarge(maxBytes: number): UsherError {
  return new UsherError('PAYLOAD_TOO_LARGE', `The body is larger than ${maxBytes} bytes.`, { details: { maxBytes } });
}
