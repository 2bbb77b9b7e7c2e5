/** Mails without a template: plain text, as text and as HTML. */

import { escapeHtml } from '../delivery/layout.ts';

/** What was sent. */
interface Plain {
  /** One line. */
  readonly subject: string;
  readonly body: string;
  /** A URL, or a path within the application's own pages, which no mail can lead to. */
  readonly url: string | null;
}

/** The subject as a heading, the body, and a link. The text begins with the subject where there is no body: it is never empty. */
export function plainMail({ subject, body, url }: Plain): { html: string; text: string } {
  const link = url !== null && /^https?:\/\//i.test(url) ? url : null;
  const heading = `<h1 dir="auto">${escapeHtml(subject)}</h1>`;
  const paragraphs = plainHtml(body);
  const words = body.trim() === '' ? subject : body;
  return {
    html: [heading, ...(paragraphs === '' ? [] : [paragraphs]), ...(link === null ? [] : [linkTo(link)])].join('\n'),
    text: link === null ? words : `${words}\n\n${link}`,
  };
}

function linkTo(url: string): string {
  const escaped = escapeHtml(url);
  return `<p dir="ltr"><a href="${escaped}">${escaped}</a></p>`;
}

/** In whatever language it is: each paragraph shows its own direction. Paragraphs where there is an empty line, breaks where there is none. */
export function plainHtml(text: string): string {
  if (text.trim() === '') return '';
  // Escaped as a whole, which is ten times as fast as piece by piece: a text may have a hundred thousand paragraphs.
  return escapeHtml(text)
    .replaceAll('\r\n', '\n')
    .split(/\n[\t ]*\n/)
    .map((paragraph) => `<p dir="auto">${paragraph.trim().replaceAll('\n', '<br>')}</p>`)
    .join('\n');
}
