/** Plain text as HTML. */

import { escapeHtml } from '../delivery/layout.ts';

/** In whatever language it is: each paragraph shows its own direction. Paragraphs where there is an empty line, breaks where there is none. */
export function plainHtml(text: string): string {
  if (text.trim() === '') return '';
  return text
    .split(/\r?\n[\t ]*\r?\n/)
    .map((paragraph) => `<p dir="auto">${escapeHtml(paragraph.trim()).replace(/\r?\n/g, '<br>')}</p>`)
    .join('\n');
}
