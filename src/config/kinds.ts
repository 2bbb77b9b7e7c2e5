/** The rows of the configuration table and the kinds of values. Every problem completes a sentence that begins with the key. */

import { isIP, isIPv6 } from 'node:net';
import { z } from 'zod';
import { isApplicationCode, normalizeEmail } from '../base/grammar.ts';
import { hostName } from '../base/host-names.ts';
import { trimEnd } from '../base/trim.ts';

/** The values of the keys above one in the table, by key; `production` is NODE_ENV. */
export type Before = Readonly<Record<string, unknown>> & { readonly production: boolean };

/** A row of the table; the value of the key is a T. */
export interface Key<T> {
  readonly schema: z.ZodType;
  readonly variable: string;
  /** The value of an absent key; null for none. */
  readonly default: T | ((before: Before) => T);
  /** The default in words, if it depends on other values or needs an explanation. */
  readonly otherwise?: string;
  /** For messages; otherwise the example of the kind, or the default. */
  readonly example?: string;
  readonly about: string;
  /** Masked in all output. */
  readonly secret?: true;
  /** Taken while the service runs, by SIGHUP (reload.ts); `path`: from one file to another, not from none or to none. */
  readonly reload?: 'value' | 'path';
}
/** A row that may leave its variable to `keys`. */
type Unnamed<T> = Omit<Key<T>, 'variable'> & { readonly variable?: string };
type Row<T> = Omit<Unnamed<NoInfer<T>>, 'schema'>;

export function key<T>(schema: z.ZodType<T>, row: Row<T>): Unnamed<T>;
export function key<T>(schema: z.ZodType<T>, row: Row<T | null>): Unnamed<T | null>;
export function key<T>(schema: z.ZodType<T>, row: Row<T>): Unnamed<T> {
  return { ...row, schema };
}

/** The table. A key without a variable has its own name in capitals: `http.trustProxy` would be HTTP_TRUST_PROXY. */
export function keys<T extends Record<string, Unnamed<unknown>>>(rows: T) {
  const named = Object.entries(rows).map(([name, row]) => [name, { variable: variableOf(name), ...row }]);
  return Object.fromEntries(named) as { readonly [Name in keyof T]: T[Name] & { readonly variable: string } };
}

function variableOf(name: string): string {
  return name.replace(/(?<=[a-z])(?=[A-Z])|\./g, '_').toUpperCase();
}

/** The rule of a scalar, as the rest of a sentence that begins with the key. */
const must = (problem: string | ((value: string) => string)) => ({
  error: ({ input }: { input?: unknown }) => (typeof problem === 'string' ? problem : problem(String(input))),
});
const quoted = (text: string): string => JSON.stringify(text);

export const text = z.string('must be a text');
/** Not empty. */
export const filledText = z.string('must be a text').min(1, 'must not be empty');
export const matching = (test: (value: string) => boolean, problem: string | ((value: string) => string)) =>
  text.refine(test, must(problem));
export const flag = z
  .boolean(must((value) => `must be true or false, not ${quoted(value)}`))
  .meta({ examples: ['true'] });
export const whole = (min: number, max: number) => {
  const problem = must((value) => `must be a whole number from ${min} to ${max}, not ${quoted(value)}`);
  return z.int(problem).min(min, problem).max(max, problem);
};
/** From 0 to 1. */
export const share = (() => {
  const problem = must((value) => `must be a number from 0 to 1, not ${quoted(value)}`);
  return z.number(problem).min(0, problem).max(1, problem);
})();
export const oneOf = <const T extends string>(options: readonly T[]) =>
  z.enum(
    options,
    must((value) => `must be one of ${options.join(', ')}, not ${quoted(value)}`),
  );
/** Items are named by resolve.ts: a wrong secret by its place, never by its text. */
export const list = <T extends string>(item: z.ZodType<T>) => z.array(item, 'must be a text');
export const filled = <T extends string>(item: z.ZodType<T>) =>
  list(item).min(1, 'is an empty list: leave it out, or name at least one');

export const host = matching((value) => /^[A-Za-z0-9.:-]+$/.test(value), 'must be an address or a host name').meta({
  examples: ['127.0.0.1'],
});
const KNOWN_HEADERS: ReadonlySet<string> = new Set(['authorization', 'cookie', 'host', 'origin', 'x-internal-api-key']);
/** A header that may name a person: not one that says something else here. */
export const userHeader = matching(
  (value) => /^[A-Za-z0-9-]{1,64}$/.test(value) && !KNOWN_HEADERS.has(value.toLowerCase()),
  'must be the name of a header, and not of one that means something else here',
);
export const port = whole(0, 65_535);
/** Where another service listens. An IPv6 address stands in brackets. */
export const address = matching(
  (value) => /^(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/.test(value) && URL.canParse(`http://${value}`),
  'must be host:port',
);
export const url = matching(isHttpUrl, 'must be an http or https URL without credentials');
/** Without a trailing slash, a query and a fragment, so that paths can be appended. */
export const baseUrl = matching(
  (value) => isHttpUrl(value) && !/[?#]/.test(value),
  'must be an http or https URL without credentials, query and fragment',
).overwrite((value) => trimEnd(value, '/'));
/** Where a gateway is reached, as an origin is written: nothing of it has a path, so that links, cookies and policies of pages hold for all of it. */
export const ownOrigin = matching(
  (value) => isHttpUrl(value) && !/[?#]/.test(value) && URL.parse(value)?.pathname === '/',
  (value) => {
    const parsed = isHttpUrl(value) ? URL.parse(value) : null;
    if (parsed === null) return 'must be an http or https URL without credentials, path, query and fragment';
    return `must be scheme, host and port alone: set ${parsed.origin}, and have the proxy lead that address here without a path`;
  },
).overwrite((value) => URL.parse(value)?.origin ?? value);
/** Where requests leave by: scheme, host and port, and credentials as HTTP Basic can send them (RFC 7617 2). */
export const proxyUrl = matching(
  isProxyUrl,
  'must be an http:// or https:// URL of host and port alone, with name and password where the proxy asks for them',
);
/** A host as `hostName` writes it, or `.example.com` for all names below that. */
export const exemptHost = matching(
  (value) => exemptOf(value) !== null,
  'must be a host name or an address, or .example.com for all names below it; without scheme, port, path and *',
).overwrite((value) => exemptOf(value) ?? value);
export const origins = list(
  matching(
    (value) => isHttpUrl(value) && URL.parse(value)?.origin === value,
    'must be an origin (scheme, host and port only)',
  ),
);
export const emails = list(matching((value) => normalizeEmail(value) !== null, 'is not an e-mail address')).overwrite(
  (items) => [...new Set(items.map((item) => normalizeEmail(item) ?? item))],
);
export const count = whole(1, 10_000_000);
/** Up to a hundred years. */
export const days = whole(1, 36_525);

/** libpq takes several hosts in one URL; the driver looks them up as one name. */
const HOST_LIST = /^postgres(?:ql)?:\/\/[^/?#]*,/;
export const databaseUrl = matching(
  (value) => /^postgres(?:ql)?:$/.test(URL.parse(value)?.protocol ?? '') && !HOST_LIST.test(value),
  (value) =>
    HOST_LIST.test(value)
      ? 'names several hosts: name one address that leads to the primary, such as a proxy or a service'
      : 'must be a postgresql:// URL',
);
export const asymmetric: z.ZodType<string> = z.enum(
  ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  'is not an asymmetric algorithm (symmetric algorithms and `none` are never accepted)',
);
/** Of every day. */
export const timeOfDay = text.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, must('must be a time of day in UTC such as 03:00'));
export const role = z.enum(['rpc', 'gateway', 'worker'], 'must be rpc, gateway or worker');
export const applications = z
  .record(z.string(), text, 'must be a JSON object')
  .superRefine((apps, context) => {
    for (const [organization, app] of Object.entries(apps)) {
      const message = `${quoted(app)} (of ${organization}) is not an application code`;
      if (!isApplicationCode(app)) context.addIssue({ code: 'custom', message });
    }
  })
  .transform((apps): ReadonlyMap<string, string> => new Map(Object.entries(apps)));

/** The parameters of an authorization request that its client computes (RFC 6749, RFC 7636, OpenID Connect). */
const OWN_PARAMETERS = new Set([
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'nonce',
  'redirect_uri',
  'response_mode',
  'response_type',
  'scope',
  'state',
]);
export const authorizeParams: z.ZodType<Readonly<Record<string, string>>> = z
  .record(z.string(), text, 'must be a JSON object')
  .superRefine((params, context) => {
    for (const name of Object.keys(params)) {
      const message = `${quoted(name)} is set by the panel itself`;
      if (OWN_PARAMETERS.has(name)) context.addIssue({ code: 'custom', message });
    }
  });

function isProxyUrl(value: string): boolean {
  const url = /^https?:\/\//i.test(value) && !/[?#]/.test(value) ? URL.parse(value) : null;
  if (url === null || url.pathname !== '/' || (url.username === '' && url.password !== '')) return false;
  try {
    const [name, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    return !name.includes(':') && !/\p{Cc}/u.test(name + password);
  } catch {
    // A percent sign that encodes nothing.
    return false;
  }
}

function exemptOf(value: string): string | null {
  const below = value.startsWith('.');
  const bare = below ? value.slice(1) : value;
  if (/^\.|\.\./.test(bare)) return null;
  const url = /^(?:\[[^\]]*\]|[^\s:/?#@\\*%[\]]+)$/.test(bare) || isIPv6(bare) ? hostUrl(bare) : null;
  if (url === null) return null;
  const name = hostName(url);
  return below && isIP(name) !== 0 ? null : `${below ? '.' : ''}${name}`;
}

function hostUrl(host: string): URL | null {
  return URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}/`);
}

function isHttpUrl(value: string): boolean {
  const parsed = URL.parse(value);
  return parsed !== null && /^https?:$/.test(parsed.protocol) && parsed.username === '' && parsed.password === '';
}
