/**
 * Loads the delivery packages when they are first needed: this makes the start faster and the heap of the thread that answers checks
 * smaller. Loading one blocks its thread for 25 to 50 ms. Where that thread answers callers and the configuration needs the package,
 * it is loaded before the listeners open (app/features.ts).
 */

import { createRequire } from 'node:module';
import type MailComposer from 'nodemailer/lib/mail-composer';
import type SMTPPool from 'nodemailer/lib/smtp-pool';
import type webPush from 'web-push';

const load = createRequire(import.meta.url);

/** The composer and the connection pool of nodemailer, by their exported paths. */
export function loadNodemailer(): { MailComposer: typeof MailComposer; SMTPPool: typeof SMTPPool } {
  return {
    MailComposer: load('nodemailer/lib/mail-composer') as typeof MailComposer,
    SMTPPool: load('nodemailer/lib/smtp-pool') as typeof SMTPPool,
  };
}

/** Encrypts and signs pushes. */
export function loadWebPush(): typeof webPush {
  return load('web-push') as typeof webPush;
}
