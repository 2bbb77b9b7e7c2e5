/** `listeners`: what this process listens on beside `http.*`, `grpc.*` and `ops.*` (docs/guides/listeners.md). */

import { z } from 'zod';
import { addressText, type ListenAddress } from '../base/listening.ts';
import { address, oneOf, text } from './kinds.ts';

/** What a gateway listener can be limited to. Each route belongs to one, or to two where it takes a token or a key. */
export const SURFACES = ['people', 'administration', 'backends', 'webhooks', 'panel', 'operations'] as const;
export type Surface = (typeof SURFACES)[number];

export type ListenerKind = 'http' | 'grpc' | 'ops';

/** Paths of PEM files; null in their place means cleartext. With `clientCa`, clients must show a certificate. */
export interface TlsPaths {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string | null;
}

/** One entry of `listeners`. */
export interface FurtherListener {
  readonly for: ListenerKind;
  readonly addresses: readonly ListenAddress[];
  readonly tls: TlsPaths | null;
  /** Of the gateway. */
  readonly serves: readonly Surface[];
  /** Of the gateway: whether one proxy stands before it. */
  readonly trustProxy: boolean;
}

export const surface = oneOf(SURFACES);

/** Linux takes 107 bytes, macOS 103. */
const MAX_PATH = 103;
const UNIX = /^unix:(\/\P{Cc}+)$/u;
const SOCKET_MODES = ['0600', '0660', '0666'] as const;
const ADDRESS_RULE = 'must be host:port, [IPv6]:port or unix:/path';

function pathOf(value: string): string | null {
  return UNIX.exec(value)?.[1] ?? null;
}

const listenAddress = z
  .string({ error: ({ input }) => (input === undefined ? 'is required' : ADDRESS_RULE) })
  .superRefine((value, context) => {
    const refuse = (message: string): void => context.addIssue({ code: 'custom', message, input: value });
    const path = pathOf(value);
    if (path === null) {
      if (!address.safeParse(value).success) refuse(ADDRESS_RULE);
    } else if (Buffer.byteLength(path) > MAX_PATH) refuse(`has a path of more than ${MAX_PATH} bytes`);
  });

const required = (rule: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is required' : rule),
});

/** An object whose unknown keys are named, with those that there are. */
function exact<Shape extends z.ZodRawShape>(shape: Shape, what: string) {
  const known = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return `must be ${what}`;
      return `has no key ${(issue.keys as string[]).join(', ')}; its keys are ${known}`;
    },
  });
}

const file = text.min(1, 'is empty');
const tls = exact(
  {
    cert: z.string(required('must be a path')).min(1, 'is empty'),
    key: z.string(required('must be a path')).min(1, 'is empty'),
    clientCa: file.optional(),
  },
  'a map with cert and key',
);

const entry = exact(
  {
    for: z.enum(['http', 'grpc', 'ops'], required('must be http, grpc or ops')),
    addresses: z.array(listenAddress, required('must be a list of addresses')).min(1, 'is an empty list'),
    tls: tls.optional(),
    serves: z.array(surface, 'must be a list of surfaces').min(1, 'is an empty list').optional(),
    trustProxy: z.boolean('must be true or false').optional(),
    socketMode: z.enum(SOCKET_MODES, `must be one of '${SOCKET_MODES.join("', '")}', in quotes`).optional(),
  },
  'a map with for and addresses',
).superRefine((given, context) => {
  const refuse = (path: string, message: string): void => context.addIssue({ code: 'custom', path: [path], message });
  const isSocket = given.addresses.some((one) => pathOf(one) !== null);
  if (given.tls !== undefined && isSocket) {
    refuse('tls', 'is not for a UNIX socket, which the permissions of its file protect: give it an entry of its own');
  }
  if (given.socketMode !== undefined && !isSocket) refuse('socketMode', 'is for unix:/path only');
  if (given.for === 'http') return;
  for (const key of ['serves', 'trustProxy'] as const) {
    if (given[key] !== undefined) refuse(key, 'is for http only');
  }
});

export const listeners = z
  .array(entry, 'must be a list of listeners')
  .min(1, 'is an empty list: leave it out, or name at least one');

/** Entries as the service uses them. */
export function furtherListeners(entries: readonly z.output<typeof entry>[]): FurtherListener[] {
  return entries.map((given) => ({
    for: given.for,
    addresses: given.addresses.map((one) => readAddress(one, Number.parseInt(given.socketMode ?? '0660', 8))),
    tls: given.tls === undefined ? null : { ...given.tls, clientCa: given.tls.clientCa ?? null },
    serves: given.serves ?? SURFACES,
    trustProxy: given.trustProxy ?? false,
  }));
}

function readAddress(value: string, mode: number): ListenAddress {
  const path = pathOf(value);
  if (path !== null) return { path, mode };
  const colon = value.lastIndexOf(':');
  const at = { host: value.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(value.slice(colon + 1)) };
  // Beside `0.0.0.0` at the same port.
  return at.host === '::' ? { ...at, ipv6Only: true } : at;
}

/** One address of an entry, and its place: `listeners[0].addresses[1]`. */
export interface Door {
  readonly listener: FurtherListener;
  /** Of its entry. */
  readonly index: number;
  readonly at: ListenAddress;
  readonly key: string;
}

/** Every further address of a kind, in order. */
export function doorsOf(entries: readonly FurtherListener[], kind: ListenerKind): Door[] {
  return entries.flatMap((listener, index) =>
    listener.for === kind
      ? listener.addresses.map((at, place) => ({ listener, index, at, key: `listeners[${index}].addresses[${place}]` }))
      : [],
  );
}

/** The roles and the upstream of a process decide which kinds it opens. */
interface Process {
  readonly roles: readonly string[];
  readonly upstream: { readonly address: string | null };
}

/** Whether this process opens listeners of that kind, where they are configured: an edge has no gateway. */
export function isOpenHere({ roles, upstream }: Process, kind: ListenerKind): boolean {
  if (kind === 'ops') return true;
  if (upstream.address !== null) return kind === 'grpc';
  return roles.includes(kind === 'grpc' ? 'rpc' : 'gateway');
}

/** The key of the one among `others` that has this address already; null for none. Port 0 always picks a free one. */
export function twice(at: ListenAddress, others: readonly { at: ListenAddress; key: string }[]): string | null {
  if ('port' in at && at.port === 0) return null;
  return others.find((other) => addressText(other.at) === addressText(at))?.key ?? null;
}
