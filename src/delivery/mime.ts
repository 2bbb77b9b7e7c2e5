/**
 * A mail that nodemailer has composed, as bytes in one piece. The library would read it through a dozen streams, which takes half as
 * long again as all of sending it (docs/adr/0014); headers and encodings are its own all the same.
 */

import { Readable } from 'node:stream';
import * as base64 from 'nodemailer/lib/base64';
import type MimeNode from 'nodemailer/lib/mime-node';
import * as quotedPrintable from 'nodemailer/lib/qp';
import { TurnQueue } from '../base/time-slice.ts';

/** Several servers may be ready at once: of their messages one is written in a turn. */
const LINE = new TurnQueue();

/** The stream of the whole message. Its parts must be texts or bytes, as ours are. */
export function readWhole(message: MimeNode): Readable {
  return new Readable({
    read() {
      LINE.turn()
        .then(() => {
          if (this.destroyed) return;
          const whole = write(message);
          const end = whole.endsWith('\n') ? '' : whole.endsWith('\r') ? '\n' : '\r\n';
          this.push(Buffer.from(whole + end));
          this.push(null);
        })
        .catch((error: Error) => this.destroy(error));
    },
  });
}

/** Line breaks are as they were handed in: the client makes CRLF of them. */
function write(node: MimeNode): string {
  const headers = node.buildHeaders();
  if (node.multipart) {
    const parts = node.childNodes.map((child) => `--${node.boundary}\r\n${write(child)}\r\n`);
    return `${headers}\r\n\r\n${parts.join('')}--${node.boundary}--\r\n`;
  }
  return `${headers}\r\n\r\n${body(node)}`;
}

function body(node: MimeNode): string {
  const { content } = node;
  if (typeof content !== 'string' && !Buffer.isBuffer(content)) throw new Error('a part of a mail must be text');
  const encoding = node.getTransferEncoding();
  if (encoding === 'quoted-printable') return quotedPrintable.wrap(quotedPrintable.encode(content));
  if (encoding === 'base64') return base64.wrap(base64.encode(content));
  return content.toString();
}
