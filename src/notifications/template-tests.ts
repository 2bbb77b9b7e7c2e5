/** A template as one real mail to the administrator who tries it (docs/reference/notifications.md#test-mails). */

import { administer, applicationOf, type By, editorOf, refuseAuthType } from '../administration/administer.ts';
import type { MailMessage } from '../delivery/mail.ts';
import { findType } from '../persistence/catalog/notification-types.ts';
import { findTemplate, type TemplateRow } from '../persistence/catalog/templates.ts';
import type { Database } from '../persistence/database.ts';
import { findReader } from '../persistence/notifications/readers.ts';
import { nameOf, type Templates, unknownTemplate } from './templates.ts';

/** Test mails of one person a minute. */
export const TESTS_A_MINUTE = 10;

/** Sends by the brand's own server, or by the default brand's for null; resolves to the server's response, or throws SMTP_FAILED. */
export type SendByBrand = (
  brandId: number | null,
  message: Omit<MailMessage, 'messageId'>,
  by: Pick<By, 'requestId'>,
  signal: AbortSignal,
) => Promise<{ response: string }>;

/** Throws RATE_LIMITED for a caller who has taken all of a minute's tests. */
export type TestLimit = { take(caller: string): Promise<void> } | null;

interface TemplateTestsOptions {
  readonly database: Database;
  readonly templates: Pick<Templates, 'preview'>;
  readonly sendByBrand: SendByBrand;
  readonly limit: TestLimit;
}

interface Tested {
  readonly template: TemplateRow;
  readonly fromName: string | null;
  readonly brandId: number | null;
}

export class TemplateTests {
  readonly #options: TemplateTestsOptions;

  constructor(options: TemplateTestsOptions) {
    this.#options = options;
  }

  /**
   * Sends the template, rendered with the payload as in a preview, to the caller alone, and returns the server's response.
   * RATE_LIMITED, NOT_FOUND, UNPROCESSABLE when it cannot be rendered, SMTP_FAILED when the server refused it.
   * FORBIDDEN for `auth_idp`: a genuine mail with a code of the caller's making could be passed on.
   */
  async send(
    app: string,
    id: number,
    payload: Record<string, unknown>,
    by: By,
    signal: AbortSignal,
  ): Promise<{ response: string }> {
    const to = by.caller.email;
    await this.#options.limit?.take(`user:${to}`);
    const { template, fromName, brandId } = await this.#admit(app, id, by);
    const { subject, html, text } = await this.#options.templates.preview(app, id, { payload }, to, signal);
    // Urgent: the caller waits.
    const message = { to, subject, html, text, locale: template.locale, fromName, urgent: true };
    return await this.#options.sendByBrand(brandId, message, by, signal);
  }

  /** Decides and records, like a write: a mail leaves in the name of a brand. */
  async #admit(app: string, id: number, by: By): Promise<Tested> {
    const about = { app, action: 'template.tested', guard: editorOf(app) };
    const { result } = await administer<Tested>(this.#options.database, by, about, async ({ tx, audit }) => {
      const appId = await applicationOf(tx, app);
      const template = await findTemplate(tx, appId, id);
      if (template === undefined) throw unknownTemplate();
      const refused = await refuseAuthType(tx, template.type, by.caller.email);
      if (refused !== null) return { result: refused, scopes: [] };
      const type = await findType(tx, appId, template.type);
      const reader = await findReader(tx, by.caller.email);
      audit({ subject: nameOf(template), after: { to: by.caller.email } });
      return {
        result: { template, fromName: type?.emailFromName ?? null, brandId: reader?.brandId ?? null },
        scopes: [],
      };
    });
    return result;
  }
}
