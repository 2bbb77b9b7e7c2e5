/** HTML as values: values in a template are escaped unless they are already HTML. */

import { escapeHtml } from '../../delivery/layout.ts';

/** Text that is already HTML. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Marks a constant text as HTML. Never use it for input. */
export function raw(text: string): Html {
  return new Html(text);
}

/** A template whose values are escaped, for text and for attributes in double quotes. */
export function html(parts: TemplateStringsArray, ...values: (string | Html | readonly Html[])[]): Html {
  const shown = values.map((value) => {
    if (value instanceof Html) return value.text;
    return typeof value === 'string' ? escapeHtml(value) : value.map(({ text }) => text).join('');
  });
  return new Html(String.raw({ raw: parts }, ...shown));
}
