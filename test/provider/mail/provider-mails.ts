import { createHmac } from 'node:crypto';

/** What the identity provider POSTs, as it does in the field (facts: compact JSON, sorted keys, args escaped for HTML). */

export const SIGNING_KEY = 'k'.repeat(36);
export const IDP = 'https://idp.example.com';

export interface MailOf {
  eventType?: string;
  to?: string;
  args?: Record<string, unknown>;
  url?: string;
  templateData?: Record<string, unknown>;
}

let counter = 0;

/** The bytes of a call; each has a code of its own. */
export function mailBody({
  eventType = 'user.human.email.code.added',
  to = 'gigi@example.com',
  ...more
}: MailOf = {}): {
  body: string;
  code: string;
} {
  const code = `C${String(++counter).padStart(5, '0')}`;
  const url = more.url ?? `${IDP}/ui/login/mail/verification?authRequestID=&code=${code}&orgID=100&userID=200`;
  const json = {
    args: {
      changeDate: '2026-08-09T11:39:03.765691Z',
      code,
      displayName: 'Gigi O&#39;Brien',
      firstName: 'Gigi',
      lastName: 'O&#39;Brien',
      loginNames: ['gigi'],
      orgID: '100',
      userID: '200',
      verifiedPhone: '',
      ...more.args,
    },
    contextInfo: { eventType, provider: { id: '285181292935381355', description: 'relay' }, recipientEmailAddress: to },
    templateData: {
      title: 'Provider title',
      preHeader: 'Provider header',
      subject: 'Provider subject',
      greeting: 'Hello Gigi O&#39;Brien,',
      text: `Provider text (Code ${code})`,
      url,
      buttonText: 'Provider button',
      primaryColor: '#5469d4',
      logoUrl: `${IDP}/assets/v1/100/policy/label/logo`,
      footerText: 'InitCode.Footer',
      ...more.templateData,
    },
  };
  const body = JSON.stringify(json, (_, value: unknown) => (value === undefined ? undefined : value)).replace(
    /[&<>]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );
  return { body, code };
}

export interface Sign {
  key?: string;
  /** Unix seconds. */
  t?: number;
  scheme?: 'body' | 'timestamped';
}

export function signature(body: string, { key = SIGNING_KEY, t, scheme = 'timestamped' }: Sign = {}): string {
  const time = t ?? Math.floor(Date.now() / 1000);
  return `t=${time},v1=${hmac(body, key, scheme === 'body' ? null : time)}`;
}

export function hmac(body: string, key: string, time: number | null): string {
  return createHmac('sha256', key)
    .update(time === null ? body : `${time}.${body}`)
    .digest('hex');
}

export interface MailAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
  body: any;
}

export async function post(rest: string, body: string, header: string | null): Promise<MailAnswer> {
  const response = await fetch(`${rest}/api/idp/notifications/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(header === null ? {} : { 'idp-signature': header }) },
    body,
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}
