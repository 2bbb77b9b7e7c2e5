/** Codes are compared as the service sorts them: by their characters, whatever the reader's language. */
export function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
