/**
 * Reads a request body: in the order 413, 415, 400, never keeping a byte more than the limit. By hand, because body-parser checks
 * the encoding before the size, and cannot be stopped by the limits of unfinished bodies (test/gateway/unproven) and of tiny chunks.
 */

import { UsherError, validationFailed } from '../../base/errors.ts';
import { announcesBody } from '../http/connections.ts';
import { readLater } from '../http/reading.ts';
import { type BodyFormat, checkMedia } from '../route/bodies.ts';
import { HTTP_LIMITS, isTooFine } from '../route/limits.ts';
import { CallerGone, type Exchange } from './exchange.ts';
import type { UnprovenBodies, UnprovenBody } from './unproven.ts';

/** The body of a request as its format's value. Throws PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE or VALIDATION_FAILED. */
export async function receiveBody<T>(
  exchange: Exchange,
  format: BodyFormat<T>,
  unproven: UnprovenBodies | null,
): Promise<T> {
  const { req } = exchange;
  if (!announcesBody(req)) return format.parse(undefined, '');
  if (Number(req.get('content-length') ?? 0) > format.maxBytes) throw tooLarge(format.maxBytes);
  const encoding = req.get('content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new UsherError('UNSUPPORTED_MEDIA_TYPE', 'Send the body uncompressed.');
  }
  const media = checkMedia(req.get('content-type'), format.media);
  const bytes = await readBytes(exchange, format.maxBytes, unproven);
  return format.parse(bytes.length === 0 ? undefined : bytes, media);
}

/**
 * The whole body; PAYLOAD_TOO_LARGE as soon as a byte over the limit arrives, VALIDATION_FAILED for too many tiny chunks. With
 * `unproven`, for callers without credentials, RATE_LIMITED or UNAVAILABLE when too many bytes of such bodies are held already.
 */
export function readBytes(exchange: Exchange, maxBytes: number, unproven: UnprovenBodies | null): Promise<Buffer> {
  const { req, res } = exchange;
  // `Expect: 100-continue` is answered here, so that a refused caller never sends its 32 MiB.
  if (req.headers.expect !== undefined && !res.headersSent) {
    // The client sends the body now, so the next request begins after it (connections.ts).
    res.shouldKeepAlive = !/\bclose\b/i.test(req.headers.connection ?? '');
    res.writeContinue();
  }
  return new Promise((resolve, reject) => {
    // One chunk, the usual case, is kept as it came. Several are copied: each could keep a whole page of memory alive.
    let whole: Buffer = EMPTY;
    let size = 0;
    let pieces = 0;
    let share: UnprovenBody | null = null;
    // Small bodies, mostly checks, arrive in one chunk and are not counted.
    const announced = Number(req.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    const most = Math.min(maxBytes, announced);
    const stop = (): void => {
      share?.giveBack();
      share = null;
      req.off('data', onData);
      req.off('end', onEnd);
      req.off('close', onClose);
    };
    const refuse = (error: UsherError): void => {
      stop();
      req.pause();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      const before = size;
      size += chunk.length;
      if (size > maxBytes) {
        refuse(tooLarge(maxBytes));
      } else if (isTooFine(++pieces, size)) {
        refuse(tooFine());
      } else {
        if (pieces % HTTP_LIMITS.turnPieces === 0) readLater(req.socket);
        if (unproven !== null && size < announced) {
          share ??= unproven.open(exchange.address);
          try {
            share.take(chunk.length);
          } catch (error) {
            refuse(error as UsherError);
            return;
          }
        }
        if (before === 0) {
          whole = chunk;
        } else {
          if (whole.length < size) whole = withRoom(whole, before, Math.min(2 * size, Math.max(size, most)));
          chunk.copy(whole, before);
        }
      }
    };
    const onEnd = (): void => {
      stop();
      resolve(whole.length === size ? whole : whole.subarray(0, size));
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

const EMPTY = Buffer.alloc(0);

/** A copy of the first `used` bytes in `room` bytes. */
function withRoom(bytes: Buffer, used: number, room: number): Buffer {
  const larger = Buffer.allocUnsafe(room);
  bytes.copy(larger, 0, 0, used);
  return larger;
}

function tooFine(): UsherError {
  return validationFailed([{ path: '', message: 'arrived in thousands of chunks of a few bytes; send larger chunks' }]);
}

function tooLarge(maxBytes: number): UsherError {
  return new UsherError('PAYLOAD_TOO_LARGE', `The body is larger than ${maxBytes} bytes.`, { details: { maxBytes } });
}
