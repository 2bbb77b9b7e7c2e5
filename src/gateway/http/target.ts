/** Request targets in a form that Express routes without changing their meaning. */

/** A path that matches no route. */
const NOWHERE = '/*';
/** The absolute form, which a server must take (RFC 9112 3.2.2). Only its path and query count. */
const ABSOLUTE = /^https?:\/\/[^/?#]+(\/[^?#]*)?(\?[^#]*)?$/i;
/** Nearly all targets: nothing to change. */
const PLAIN = /^\/[^#%\s]*$/;
/** For these Express uses `url.parse`, which trims a target and drops its fragment: a path other than the one sent would be routed. */
const REWRITTEN = /[#\s]/g;

/**
 * The target in origin form, meaning the same. A segment that is not percent-encoded UTF-8 becomes `%00`: Express would answer
 * 400 before the method, the caller or anything else is checked; the router reports a NUL when it checks the parameters.
 */
export function routableTarget(target: string): string {
  if (PLAIN.test(target)) return target;
  let origin = target;
  if (!target.startsWith('/')) {
    const absolute = ABSOLUTE.exec(target);
    if (absolute === null || !URL.canParse(target)) return NOWHERE;
    origin = `${absolute[1] || '/'}${absolute[2] ?? ''}`;
  }
  const escaped = origin.replaceAll(REWRITTEN, encodeURIComponent);
  if (!escaped.includes('%')) return escaped;
  const at = escaped.indexOf('?');
  const path = at < 0 ? escaped : escaped.slice(0, at);
  const segments = path.split('/').map((segment) => (isDecodable(segment) ? segment : '%00'));
  return segments.join('/') + escaped.slice(path.length);
}

function isDecodable(segment: string): boolean {
  try {
    decodeURIComponent(segment);
    return true;
  } catch {
    return false;
  }
}
