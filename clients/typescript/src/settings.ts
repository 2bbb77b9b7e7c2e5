/** Reads what is said beside a question and what clients are made with, as strictly as questions. */

import { Faults, kindOf, type Members, membersOf, optionalText, requiredText, type Shape } from './faults.ts';
import { attempt, textsOf } from './questions.ts';
import type { AskOptions, Log } from './types.ts';

/** Beyond, a timer of Node.js ends at once. */
const LONGEST_MS = 2 ** 31 - 1;

const ASK: Shape = {
  name: 'the options of a question',
  members: ['minRevision', 'deadlineMs', 'signal'],
  meant: {
    min_revision: 'write minRevision',
    deadline: 'write deadlineMs, in milliseconds',
    timeout: 'write deadlineMs, in milliseconds',
    resource: 'it is a member of the question',
    level: 'it is a member of the question',
  },
};
const READY: Shape = { name: 'the options of ready', members: ['deadlineMs', 'signal'] };
const WATCH: Shape = {
  name: 'the options of watch',
  members: ['apps', 'since', 'signal'],
  meant: { app: 'write apps: [app, …]', minRevision: 'write since' },
};

/** For `ready`. */
export function readReady(options: unknown): Pick<AskOptions, 'deadlineMs' | 'signal'> {
  if (options === undefined) return NO_OPTIONS;
  return readSettings(options, 'options', READY, (members, faults) => {
    return { deadlineMs: readMs(members, 'deadlineMs', faults), signal: readSignal(members, faults) };
  });
}

export interface WatchFields {
  /** Empty for all. */
  readonly apps: readonly string[];
  /** '' for now. */
  readonly since: string;
  readonly signal?: AbortSignal | undefined;
}

const NO_OPTIONS: AskOptions = Object.freeze({});

/** The options of a question. Throws InvalidQuestionError with every fault. */
export function readAsk(options: unknown): AskOptions {
  if (options === undefined) return NO_OPTIONS;
  return readSettings(options, 'options', ASK, (members, faults) => {
    const minRevision = optionalText(members, 'minRevision', '', faults) ?? undefined;
    return { minRevision, deadlineMs: readMs(members, 'deadlineMs', faults), signal: readSignal(members, faults) };
  });
}

export function readWatch(options: unknown): WatchFields {
  if (options === undefined) return { apps: [], since: '' };
  return readSettings(options, 'options', WATCH, (members, faults) => {
    const apps = members.get('apps');
    // An empty list is that of somebody who names none.
    const isAll = apps === undefined || (Array.isArray(apps) && apps.length === 0);
    return {
      apps: isAll ? [] : textsOf(apps, 'apps', 'codes of applications', faults),
      since: optionalText(members, 'since', '', faults) ?? '',
      signal: readSignal(members, faults),
    };
  });
}

/** Reads an object of settings by its shape. */
export function readSettings<T>(
  value: unknown,
  field: string,
  shape: Shape,
  read: (members: Members, faults: Faults) => T,
): T {
  return attempt(field, () => {
    const faults = new Faults();
    const members = membersOf(value, shape, { field, path: '' }, faults);
    if (members === null) throw faults.error();
    const settings = read(members, faults);
    faults.throwIfAny();
    return settings;
  });
}

/** Milliseconds. What is over already is time that has run out, and no mistake. */
export function readMs(members: Members, name: string, faults: Faults): number | undefined {
  const ms = members.get(name);
  if (ms === undefined) return undefined;
  if (typeof ms === 'number' && !Number.isNaN(ms)) return timer(ms);
  faults.add(name, `must be a number of milliseconds, not ${typeof ms === 'number' ? 'NaN' : kindOf(ms)}`);
  return undefined;
}

/** Milliseconds that are more than zero, of a client. */
export function readDeadline(members: Members, faults: Faults): number | undefined {
  const ms = readBound(members, 'deadlineMs', faults);
  return ms === undefined ? undefined : timer(ms);
}

/** As timers of Node.js take them. */
function timer(ms: number): number {
  return Math.ceil(Math.min(Math.max(0, ms), LONGEST_MS));
}

/** A number that bounds something: more than zero. */
export function readBound(members: Members, name: string, faults: Faults): number | undefined {
  const bound = members.get(name);
  if (bound === undefined) return undefined;
  if (typeof bound === 'number' && bound > 0 && Number.isFinite(bound)) return bound;
  faults.add(name, `must be a number more than 0${typeof bound === 'number' ? '' : `, not ${kindOf(bound)}`}`);
  return undefined;
}

export function readBoolean(members: Members, name: string, faults: Faults): boolean | undefined {
  const value = members.get(name);
  if (value === undefined || typeof value === 'boolean') return value;
  faults.add(name, `must be true or false, not ${kindOf(value)}`);
  return undefined;
}

export function readLog(members: Members, faults: Faults): Log | undefined {
  const log = members.get('log');
  if (log === undefined || hasMethod(log, 'warn')) return log as Log | undefined;
  faults.add('log', `must have a method warn, as console has; it is ${kindOf(log)}`);
  return undefined;
}

function readSignal(members: Members, faults: Faults): AbortSignal | undefined {
  const signal = members.get('signal');
  if (signal === undefined || hasMethod(signal, 'addEventListener')) return signal as AbortSignal | undefined;
  faults.add('signal', `must be an AbortSignal, not ${kindOf(signal)}`);
  return undefined;
}

export function hasMethod(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function';
}

/** A text for a header: a key that was read from a file often ends in a new line. */
export function readKey(members: Members, faults: Faults): string | undefined {
  const key = members.get('key');
  if (key === undefined || key === '') return key;
  if (typeof key !== 'string') faults.add('key', `must be a string, not ${kindOf(key)}`);
  else if (!/^[\x20-\x7e]+$/.test(key))
    faults.add('key', 'must hold visible ASCII alone: a line break at its end is not of it');
  else return key;
  return undefined;
}

export const CONNECTION_MEMBERS = ['address', 'key', 'plaintext', 'ca', 'certificate', 'deadlineMs'] as const;
/** Other names for what a client is made with. */
export const CONNECTION_MEANT = {
  url: 'write address: host:port of the gRPC port',
  host: 'write address: host:port',
  target: 'write address: host:port',
  apiKey: 'write key',
  token: 'write key',
  tls: 'write plaintext: false, and ca where the authority is your own',
  insecure: 'write plaintext: true',
  timeout: 'write deadlineMs',
  deadline: 'write deadlineMs',
};
const CERTIFICATE: Shape = { name: 'a certificate', members: ['cert', 'key'] };

/** What a connection over gRPC is made of. */
export function readConnection(members: Members, faults: Faults) {
  return {
    address: readAddress(members, faults),
    key: readKey(members, faults),
    plaintext: readBoolean(members, 'plaintext', faults),
    deadlineMs: readDeadline(members, faults),
    ...readTls(members, faults),
  };
}

export function readTls(members: Members, faults: Faults) {
  const given = members.get('certificate');
  const place = { field: 'certificate', path: 'certificate.' };
  const own = given === undefined ? null : membersOf(given, CERTIFICATE, place, faults);
  const certificate =
    own === null
      ? undefined
      : {
          cert: requiredText(own, 'cert', 'certificate.', faults),
          key: requiredText(own, 'key', 'certificate.', faults),
        };
  return { ca: optionalText(members, 'ca', '', faults) ?? undefined, certificate };
}

/** Of a gateway. */
export function readUrl(members: Members, faults: Faults): string {
  const url = requiredText(members, 'url', '', faults);
  // A host with a port reads as a URL of a scheme of that name.
  const isUrl = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (url !== '' && !isUrl) faults.add('url', 'must be a URL, such as https://usher.example.com');
  return url;
}

function readAddress(members: Members, faults: Faults): string {
  const address = requiredText(members, 'address', '', faults);
  const [, scheme] = /^(https?|grpcs?|tcp|tls):\/\//i.exec(address) ?? [];
  if (scheme !== undefined) {
    faults.add('address', `must be host:port of the gRPC port, without ${scheme.toLowerCase()}://`);
  }
  return address;
}
