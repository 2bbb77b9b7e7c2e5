import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { usherCommand } from '../../base/command.ts';
import { expiryOf } from '../../base/tls.ts';
import type { Config } from '../../config/config.ts';
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

export async function checkNode(to: Findings): Promise<void> {
  const { node } = process.versions;
  const text = await readFile(new URL('../../../package.json', import.meta.url), 'utf8');
  const { engines } = JSON.parse(text) as { engines: { node: string } };
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
  { dataDir, grpc, http }: Config,
  { cwd, secretFiles }: Files,
  to: Findings,
): Promise<void> {
  const kept = ['internal-api-key', 'vapid-keys', 'local-issuer.jwk.json'].map((name) => join(dataDir, name));
  const keys = [grpc.tls?.key, http.tls?.key].flatMap((path) => path ?? []);
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

export async function checkCertificates({ grpc, http }: Config, to: Findings): Promise<void> {
  for (const [listener, tls] of Object.entries({ gRPC: grpc.tls, gateway: http.tls })) {
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

type Door = readonly [name: string, key: string, host: string, port: number];

export async function checkPorts({ http, grpc, ops, roles, upstream }: Config, to: Findings): Promise<void> {
  const isEdge = upstream.address !== null;
  const doors: Door[] = [];
  if (!isEdge && roles.includes('gateway')) doors.push(['gateway', 'http', http.host, http.port]);
  if (isEdge || roles.includes('rpc')) doors.push(['gRPC', 'grpc', grpc.host, grpc.port]);
  if (ops !== null) doors.push(['operators', 'ops', ops.host, ops.port]);
  const states = await Promise.all(doors.map(async (door) => [door, await stateOf(door)] as const));
  const scheme = http.tls === null ? 'http' : 'https';
  const answers = await Promise.all(
    states.map(async ([[name, , host, port], state]) => {
      if (state !== 'EADDRINUSE' || name === 'gRPC') return false;
      return await isUsher(`${name === 'gateway' ? scheme : 'http'}://${reachable(host)}:${port}`);
    }),
  );
  // Nothing else tells an Usher at the port of gRPC without a key: where its other port is an Usher's, so is this.
  const isRunning = answers.includes(true);
  for (const [index, [[name, key, host, port], state]] of states.entries()) {
    const at = `${name}, ${host}:${port}`;
    if (state === null) to.ok(`${at}: free`);
    else if (state === 'EADDRINUSE' && (answers[index] === true || (name === 'gRPC' && isRunning))) {
      to.ok(`${at}: in use by a running Usher`);
    } else if (state === 'EADDRINUSE') to.fail(`${at}: in use`, `Free it, or set ${key}.port.`);
    else to.fail(`${at}: cannot be listened on (${state})`, `Set ${key}.host and ${key}.port.`);
  }
}

/** Null for a free port; else the code of the error. */
function stateOf([, , host, port]: Door): Promise<string | null> {
  if (port === 0) return Promise.resolve(null);
  return new Promise((done) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.name));
    server.listen(port, host, () => server.close(() => done(null)));
  });
}

const reachable = (host: string): string => {
  const named = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return named.includes(':') ? `[${named}]` : named;
};

/** A gateway with TLS of an authority that this process does not know does not count. */
async function isUsher(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2000), redirect: 'error' });
    return answer.ok && (await answer.text()).length < 1024;
  } catch {
    return false;
  }
}
