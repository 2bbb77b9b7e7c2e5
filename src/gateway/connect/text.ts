/**
 * gRPC-Web in text mode: frames as base64, for callers and proxies that carry no binary bodies. Connect speaks the binary mode alone, so
 * a call is translated on its way in and its answer on its way out.
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md, "application/grpc-web-text".)
 */

import type { OutgoingHttpHeaders } from 'node:http';
import type { Request, Response } from 'express';
import { validationFailed } from '../../base/errors.ts';

const TEXT = /^application\/grpc-web-text(?:\+proto)?$/;

export function isText(media: string): boolean {
  return TEXT.test(media);
}

/** The longest base64 of `bytes` bytes, where each frame may be padded by itself. */
export function textLength(bytes: number): number {
  return 4 * Math.ceil(bytes / 3) + 4;
}

/** The bytes of a body; each of its pieces may be padded. Throws VALIDATION_FAILED. */
export function fromText(body: Buffer): Buffer {
  const text = body.toString('latin1');
  const pieces = text.match(/[A-Za-z0-9+/]+={0,2}/g) ?? [];
  if (pieces.join('') !== text || pieces.some((piece) => piece.length % 4 !== 0)) {
    throw validationFailed([{ path: '', message: 'must be base64' }]);
  }
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64')));
}

/**
 * Lets Connect see a call of text mode as one of binary mode, and writes what it answers as base64. The streams of Node.js encode
 * bytes only at their end, so an answer that is written in pieces is encoded piece by piece, as callers read it.
 */
export function answerAsText(req: Request, res: Response): void {
  const media = req.headers['content-type'] ?? '';
  if (!isText(media)) return;
  req.headers['content-type'] = media.replace('-text', '');
  const [writeHead, write, end] = [res.writeHead.bind(res), res.write.bind(res), res.end.bind(res)];
  const encoded = (chunk: unknown): unknown =>
    chunk instanceof Uint8Array ? Buffer.from(chunk).toString('base64') : chunk;
  Object.assign(res, {
    writeHead: (status: number, headers: Record<string, unknown> = {}) =>
      writeHead(status, { ...headers, 'content-type': media } as OutgoingHttpHeaders),
    write: (chunk: unknown, ...rest: unknown[]) => Reflect.apply(write, res, [encoded(chunk), ...rest]),
    end: (chunk: unknown, ...rest: unknown[]) => Reflect.apply(end, res, [encoded(chunk), ...rest]),
  });
}
