/** Addresses that come with a notification. */

/** The address if it may stand in a page: http, https, or a path of the application. Null for `javascript:` and its like. */
export function safeUrl(url: string | null): string | null {
  // Browsers drop white space and control characters before they read an address: `java\tscript:` would be one of them.
  if (url === null || /[\s\p{Cc}]/u.test(url)) return null;
  return /^(?:https?:\/\/|\/(?![/\\]))/i.test(url) ? url : null;
}
