/**
 * Serializes a mail composed by nodemailer at once. The library would read it through a dozen streams, which adds half to the whole
 * time of sending (docs/adr/0014). Headers and encodings are still the library's.
 */

import { Readable } from 'node:stream';
import * as base64 from 'nodemailer/lib/base64';
import type MimeNode from 'nodemailer/lib/mime-node';
import * as quotedPrintable from 'nodemailer/lib/qp';
import { TurnQueue } from '../base/time-slice.ts';

/** One message is serialized in a turn of the event loop, also when several servers are ready at once. */
const SERIALIZATIONS = new TurnQueue();

/** A stream that yields the whole message. The content of each part must be a string or a buffer. */
export function readWhole(message: MimeNode): Readable {
  return new Readable({
    read() {
      SERIALIZATIONS.turn()
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

/** Line breaks stay as given: the client converts them to CRLF. */
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
