import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { usherCommand } from '../../base/command.ts';
import { addressText, type ListenAddress, reachableText, socketState } from '../../base/listening.ts';
import { product } from '../../base/product.ts';
import { expiryOf } from '../../base/tls.ts';
import type { Config } from '../../config/config.ts';
import { doorsOf, isOpenHere } from '../../config/listeners.ts';
import type { Findings } from './finding.ts';

export interface Files {
  /** The base of relative paths. */
  readonly cwd: string;
  /** The configuration file and those of `*_FILE` variables. */
  readonly secretFiles: readonly string[];
}

/** `^24.12.0 || ^26.0.0`: the same major version, and no older. */
export function fits(version: string, engines: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  return engines.split('||').some((range) => {
    const [wanted, least = 0, last = 0] = range.replace('^', '').trim().split('.').map(Number);
    return major === wanted && (minor > least || (minor === least && patch >= last));
  });
}

export function checkNode(to: Findings): void {
  const { node } = process.versions;
  const { engines } = product();
  if (fits(node, engines.node)) to.ok(`Node.js ${node}`);
  else
    to.fail(
      `Node.js ${node}, and Usher needs ${engines.node}`,
      `Start it by \`${usherCommand('serve')}\`, which brings its own.`,
    );
}

const OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;
const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

export async function checkFiles(
  { dataDir, grpc, http, listeners }: Config,
  { cwd, secretFiles }: Files,
  to: Findings,
): Promise<void> {
  const kept = ['internal-api-key', 'vapid-keys', 'local-issuer.jwk.json'].map((name) => join(dataDir, name));
  const keys = [grpc, http, ...listeners].flatMap(({ tls }) => tls?.key ?? []);
  const paths = [...secretFiles, ...keys, ...kept].map((path) => resolve(cwd, path));
  let open = 0;
  for (const path of new Set(paths)) {
    const mode = await stat(path).then(
      (found) => found.mode,
      () => null,
    );
    // That a file is missing is a fault of the configuration, or it is one that a start would make.
    if (mode === null || (mode & OTHERS) === 0) continue;
    open++;
    const who = (mode & WRITABLE_BY_OTHERS) === 0 ? 'read' : 'read or written';
    to.warn(`${path} can be ${who} by others (mode ${(mode & 0o777).toString(8)})`, `chmod 600 ${path}`);
  }
  if (open === 0) to.ok('no file of a secret can be read by others');
}

export async function checkCertificates({ grpc, http, listeners }: Config, to: Findings): Promise<void> {
  const further = listeners.map(({ tls }, index) => [`listeners[${index}]`, tls] as const);
  for (const [listener, tls] of [['gRPC', grpc.tls] as const, ['gateway', http.tls] as const, ...further]) {
    if (tls === null) continue;
    try {
      const days = Math.floor((expiryOf(await readFile(tls.cert, 'utf8')) * 1000 - Date.now()) / DAY_MS);
      const advice = 'Put a new one in its place, and send SIGHUP to the service.';
      if (days < 0) to.fail(`the certificate of ${listener} has expired`, advice);
      else if (days < SOON_DAYS) to.warn(`the certificate of ${listener} expires in ${days} days`, advice);
      else to.ok(`the certificate of ${listener} is good for ${days} days`);
    } catch {
      to.fail(`${tls.cert} holds no certificate, or cannot be read`, `Check the files of ${listener}'s TLS.`);
    }
  }
}

/** A listener of the configuration: what it is, its place there, and who tells whether an Usher has it. */
interface Door {
  readonly name: 'gateway' | 'gRPC' | 'operators';
  readonly key: string;
  readonly at: ListenAddress;
  readonly isTls: boolean;
}

const NAMES = { http: 'gateway', grpc: 'gRPC', ops: 'operators' } as const;
const KINDS = ['http', 'grpc', 'ops'] as const;

/** Every address that this process would listen on. */
function doorsOfProcess(config: Config): Door[] {
  return KINDS.filter((kind) => isOpenHere(config, kind)).flatMap((kind) => {
    const first = config[kind];
    const isTls = kind !== 'ops' && config[kind].tls !== null;
    const further = doorsOf(config.listeners, kind).map(({ at, key, listener }) => ({
      name: NAMES[kind],
      key,
      at,
      isTls: listener.tls !== null,
    }));
    return [...(first === null ? [] : [{ name: NAMES[kind], key: kind, at: first, isTls }]), ...further];
  });
}

export async function checkPorts(config: Config, to: Findings): Promise<void> {
  const doors = doorsOfProcess(config);
  const states = await Promise.all(doors.map(async (door) => ({ door, state: await stateOf(door.at) })));
  const answers = await Promise.all(
    states.map(async ({ door: { name, at, isTls }, state }) => {
      if (state !== 'EADDRINUSE' || name === 'gRPC' || 'path' in at) return false;
      return await isUsher(`${isTls ? 'https' : 'http'}://${reachableText(at)}`);
    }),
  );
  // Nothing else tells an Usher at the port of gRPC without a key, nor at a socket: where another port is an Usher's, so is this.
  const isRunning = answers.includes(true);
  for (const [index, { door, state }] of states.entries()) {
    const { name, key, at: address } = door;
    const at = `${name}, ${addressText(address)}`;
    const isFirst = !key.includes('[');
    if (state === null) to.ok(`${at}: free`);
    else if (state === 'EADDRINUSE' && (answers[index] || ((name === 'gRPC' || 'path' in address) && isRunning))) {
      to.ok(`${at}: in use by a running Usher`);
    } else if (state === 'EADDRINUSE') to.fail(`${at}: in use`, `Free it, or set ${isFirst ? `${key}.port` : key}.`);
    else to.fail(`${at}: cannot be listened on (${state})`, `Set ${isFirst ? `${key}.host and ${key}.port` : key}.`);
  }
}

/** Null for one that is free; else the code of the error. A socket file is not touched. */
async function stateOf(at: ListenAddress): Promise<string | null> {
  if ('path' in at) return await socketState(at.path);
  if (at.port === 0) return null;
  return await new Promise((done) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.name));
    server.listen(at, () => server.close(() => done(null)));
  });
}

/** A gateway with TLS of an authority that this process does not know does not count. */
async function isUsher(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2000), redirect: 'error' });
    return answer.ok && (await answer.text()).length < 1024;
  } catch {
    return false;
  }
}
