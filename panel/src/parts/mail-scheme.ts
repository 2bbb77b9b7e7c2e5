/** Mails in light and dark, whatever the reader's own system prefers. */

const SCHEME = /\(\s*prefers-color-scheme\s*:\s*(dark|light)\s*\)/gi;

/** The mail with its questions about the color scheme answered: a frame cannot be told to prefer another one in every browser. */
export function inScheme(html: string, dark: boolean): string {
  return html.replaceAll(SCHEME, (_, scheme: string) =>
    (scheme.toLowerCase() === 'dark') === dark ? '(min-width:0)' : '(max-width:0)',
  );
}
