/**
 * The packages that deliver, loaded with the first delivery: a start is quicker without them, and what answers checks collects
 * a smaller heap. At once and not awaited, so that nothing comes between a decision to send and the sending.
 */

import { createRequire } from 'node:module';
import type nodemailer from 'nodemailer';
import type webPush from 'web-push';

const load = createRequire(import.meta.url);

/** SMTP. */
export function loadNodemailer(): typeof nodemailer {
  return load('nodemailer') as typeof nodemailer;
}

/** Encryption and signatures of pushes. */
export function loadWebPush(): typeof webPush {
  return load('web-push') as typeof webPush;
}
