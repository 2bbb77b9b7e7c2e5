/** The mail in the provider's own words, used when this service has no usable template (docs/reference/identity-provider.md#e-mails). */

import { validationFailed } from '../../base/errors.ts';
import { escapeHtml } from '../../delivery/layout.ts';
import type { AuthMail } from './payload.ts';
import { scrub } from './text.ts';

export interface Content {
  subject: string;
  html: string;
  text: string;
  button?: { text: string; url: string };
  preheader?: string;
}

/** The provider's texts are plain except for these tags, which some of its languages have. */
const BREAK = /<\/?br\s*\/?>/gi;
const EMPHASIS = /<\/?(?:strong|b|em|i|u|p)>/gi;

/** Throws VALIDATION_FAILED when the provider's texts do not make a mail. Its colors and logo give way to the brand's. */
export function contentOf(
  { templateData, url }: Pick<AuthMail, 'templateData' | 'url'>,
  origins: ReadonlySet<string>,
): Content {
  const part = (name: string): string => {
    const value = templateData[name];
    // A tag inside a name may have hidden a link.
    return typeof value === 'string' ? scrub(value.replace(BREAK, '\n').replace(EMPHASIS, ''), origins).trim() : '';
  };
  const [title, greeting, text, footer] = [part('title'), part('greeting'), part('text'), part('footerText')];
  const subject = part('subject') || title;
  const preheader = part('preHeader');
  // `InitCode.Footer` is an untranslated key: the provider has no footer in this language.
  const paragraphs = [greeting, text, /^\w+\.Footer$/.test(footer) ? '' : footer].filter((each) => each !== '');
  if (subject === '' || (paragraphs.length === 0 && url === null)) {
    throw validationFailed([
      { path: 'templateData', message: 'must have a subject and a text, because no template can be used' },
    ]);
  }
  // The provider's language is unknown, so each text takes the direction of its own characters.
  const heading =
    title === ''
      ? ''
      : `<h1 dir="auto" style="margin:0 0 16px;font-size:20px;line-height:1.3">${escapeHtml(title)}</h1>\n`;
  return {
    subject,
    html:
      heading + paragraphs.map((each) => `<p dir="auto">${escapeHtml(each).replaceAll('\n', '<br>')}</p>`).join('\n'),
    text: [title, ...paragraphs].filter((each) => each !== '').join('\n\n'),
    ...(preheader === '' || preheader === title ? {} : { preheader }),
    ...(url === null ? {} : { button: { text: part('buttonText') || title || subject, url } }),
  };
}
