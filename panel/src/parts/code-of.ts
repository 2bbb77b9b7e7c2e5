/** Codes out of names: what somebody would have typed, so that it need not be. */

/** `Help desk – Čechy` is `help-desk-cechy`: lower-case letters and digits with single hyphens between; at most 64 of them. */
export function codeOf(name: string): string {
  return name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replaceAll(/^-+|-+$/g, '');
}
const MAX_LENGTH = 64;

/** A name that is being typed, with its code: made of the name until somebody has typed another. */
export function named(
  before: { readonly name: string; readonly code: string },
  name: string,
): { name: string; code: string } {
  return { name, code: before.code === codeOf(before.name) ? codeOf(name) : before.code };
}
