/** A brand's look on sample words, by the code that makes its real mails (docs/reference/brands.md#previews). */

import { escapeHtml, renderLayout, renderText } from '../delivery/layout.ts';
import type { BrandRow } from '../persistence/brands/brands.ts';
import { lookOf } from './senders.ts';

export interface MailPreview {
  readonly subject: string;
  /** A whole document. */
  readonly html: string;
  readonly text: string;
}

/** A mail with everything that a brand gives a look: heading, text, link, button, footer and unsubscribe link. Its links lead nowhere. */
export function previewMail(brand: BrandRow): MailPreview {
  const frame = { name: brand.name, look: lookOf(brand) };
  const subject = `Mail from ${brand.name}`;
  const words = `This is how mail from ${brand.name} looks.`;
  const content = {
    subject,
    html: `<h1>${escapeHtml(subject)}</h1>\n<p>${escapeHtml(words)}</p>\n<p>A <a href="#">link</a> has its color, and so has the button.</p>`,
    text: words,
    locale: 'en',
    button: { text: 'A button', url: '#' },
    unsubscribeUrl: '#',
  };
  return { subject, html: renderLayout(frame, content), text: renderText(frame, content) };
}
