/**
 * The packages that deliver, loaded when they are first needed: a start is quicker without them, and what answers checks collects
 * a smaller heap. Each takes 25 to 50 ms, in which its thread answers nobody: where this thread answers callers and the
 * configuration says that it will be needed, it is loaded before the listeners open (app/features.ts).
 */

import { createRequire } from 'node:module';
import type MailComposer from 'nodemailer/lib/mail-composer';
import type SMTPPool from 'nodemailer/lib/smtp-pool';
import type webPush from 'web-push';

const load = createRequire(import.meta.url);

/** Messages and pools of connections: of nodemailer what mail needs, by the paths that it exports. */
export function loadNodemailer(): { MailComposer: typeof MailComposer; SMTPPool: typeof SMTPPool } {
  return {
    MailComposer: load('nodemailer/lib/mail-composer') as typeof MailComposer,
    SMTPPool: load('nodemailer/lib/smtp-pool') as typeof SMTPPool,
  };
}

/** Encryption and signatures of pushes. */
export function loadWebPush(): typeof webPush {
  return load('web-push') as typeof webPush;
}
