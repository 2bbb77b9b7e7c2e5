/**
 * The packages that deliver, loaded with the first delivery: a start is quicker without them, and what answers checks collects
 * a smaller heap. In short pieces where there is time for it. Afterwards at once and not awaited, so that nothing comes between a
 * decision to send and the sending.
 */

import { createRequire } from 'node:module';
import type nodemailer from 'nodemailer';
import type webPush from 'web-push';
import { onDemand } from '../base/lazy.ts';
import { loadInPieces } from '../base/time-slice.ts';

const load = createRequire(import.meta.url);

/** SMTP. */
export function loadNodemailer(): typeof nodemailer {
  return load('nodemailer') as typeof nodemailer;
}

/** Encryption and signatures of pushes. */
export function loadWebPush(): typeof webPush {
  return load('web-push') as typeof webPush;
}

/** To be awaited before somebody decides to send a mail: it need not be loaded in one piece then. */
export const prepareNodemailer = onDemand(() =>
  loadInPieces('nodemailer', [
    './punycode/index.js',
    './fetch/index.js',
    './shared/index.js',
    './mime-funcs/mime-types.js',
    './mime-funcs/index.js',
    './mime-node/index.js',
    './dkim/index.js',
    './mailer/index.js',
    './smtp-connection/index.js',
    './well-known/index.js',
    './smtp-pool/index.js',
    './nodemailer.js',
  ]),
);

/** The same for pushes. */
export const prepareWebPush = onDemand(() => loadInPieces('web-push', ['asn1.js', 'jws', './index.js']));
