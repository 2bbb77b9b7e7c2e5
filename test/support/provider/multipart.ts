import { ApiError } from './state.ts';

/** A file as it was uploaded. */
export interface Uploaded {
  filename: string;
  media: string;
  bytes: Buffer;
}

/** The one part `file` of a multipart/form-data body (RFC 7578); anything else is refused. */
export function parseFile(type: string, body: Buffer): Uploaded {
  const boundary = /boundary=([^;]+)/.exec(type)?.[1];
  if (boundary === undefined) throw new ApiError(3, 'no boundary');
  const open = Buffer.from(`--${boundary}\r\n`);
  const close = Buffer.from(`\r\n--${boundary}--`);
  const headEnd = body.indexOf('\r\n\r\n');
  const end = body.indexOf(close);
  if (!body.subarray(0, open.length).equals(open) || headEnd < 0 || end < headEnd) {
    throw new ApiError(3, 'malformed multipart body');
  }
  const head = body.subarray(open.length, headEnd).toString();
  const disposition = /^content-disposition: form-data; name="file"; filename="([^"]+)"$/im.exec(head);
  const media = /^content-type: (\S+)$/im.exec(head);
  if (disposition === null || media === null) throw new ApiError(3, 'no file in the form');
  return { filename: disposition[1] ?? '', media: media[1] ?? '', bytes: body.subarray(headEnd + 4, end) };
}
