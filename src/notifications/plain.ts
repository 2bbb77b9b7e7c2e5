/** Mails without a template: a plain text, as text and as HTML. */

import { escapeHtml } from '../delivery/layout.ts';

/** The texts of the send. */
interface Plain {
  /** One line. */
  readonly subject: string;
  readonly body: string;
  /** A URL, or a path in the application, which a mail cannot link to. */
  readonly url: string | null;
}

/** The subject as a heading, the body and a link. Without a body the text is the subject, so that it is never empty. */
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

/** An empty line begins a paragraph, any other line break becomes `<br>`. Each paragraph has its own text direction. */
export function plainHtml(text: string): string {
  if (text.trim() === '') return '';
  // Escapes the whole text at once, ten times as fast as by paragraph: a text may have a hundred thousand paragraphs.
  return escapeHtml(text)
    .replaceAll('\r\n', '\n')
    .split(/\n[\t ]*\n/)
    .map((paragraph) => `<p dir="auto">${paragraph.trim().replaceAll('\n', '<br>')}</p>`)
    .join('\n');
}
