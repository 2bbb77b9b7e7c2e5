/** Addresses of the panel, which somebody may have typed without encoding what a link encodes. */

/** The same address for `/people/ada@example.com` and `/people/ada%40example.com`. */
export function samePath(path: string): string {
  return path
    .split('/')
    .map((segment) => encodeURIComponent(decoded(segment)))
    .join('/');
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // A percent sign that encodes nothing.
  }
}
