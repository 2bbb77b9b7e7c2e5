/** The contact that push services are told (RFC 8292 2.1): services refuse every push of one that they cannot reach. */

import { isIP } from 'node:net';
import { isPrivateName } from '../base/host-names.ts';
import type { Config, Fault } from '../config/config.ts';

/** Why push services may refuse the subject; null for a `mailto:` or `https:` of a public name. */
export function subjectProblem(subject: string): string | null {
  if (/[<>]/.test(subject)) return 'must have no angle brackets';
  const url = URL.parse(subject);
  if (url === null || (url.protocol !== 'mailto:' && url.protocol !== 'https:'))
    return 'must be a mailto: or https: URL';
  const host = hostOf(url);
  if (isIP(host.replace(/^\[|\]$/g, '')) !== 0 || /^\[|[^a-z0-9.-]|^$/.test(host))
    return 'must name a public host, not an address';
  if (isPrivateName(host)) return `must name a public host, not ${host}`;
  return null;
}

/** In lower case and ASCII, without a final dot; of `mailto:` the domain of the address. */
function hostOf(url: URL): string {
  if (url.protocol === 'https:') return url.hostname.replace(/\.$/, '');
  const address = decoded(url.pathname);
  const domain = address.slice(address.lastIndexOf('@') + 1);
  return (URL.parse(`https://${domain}`)?.hostname ?? '').replace(/\.$/, '');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not an encoding: taken as it is.
    return text;
  }
}

/** Refused in production; elsewhere the start and `usher doctor` warn. */
export function pushSubjectFaults({ production, push: { subject } }: Config): Fault[] {
  const problem = subject === null ? null : subjectProblem(subject);
  if (!production || problem === null) return [];
  return [{ key: 'push.subject', variable: 'PUSH_SUBJECT', problem: `push.subject ${problem}` }];
}
