/** The service under measurement: the real `serve` command in a process of its own, on ports chosen here. */
import type { ChildProcess } from 'node:child_process';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cpuSeconds, freePort, pidOf, START_FLAGS, spawnPinned, stop } from './processes.ts';
import { encodeCheck, framed } from './wire.ts';

export const KEY = '0123456789abcdefghijklmnopqrstuvwxyz';

const ROOT = new URL('..', import.meta.url).pathname;
const MAIN = join(ROOT, 'src', 'main.ts');
/** As the scripts of package.json start it. */
const PRELOAD = ['--import', join(ROOT, 'src', 'compile-cache.js')];
const READY_TIMEOUT_MS = 120_000;

export interface ServiceOptions {
  /** None: the embedded database in `dataDir`. */
  databaseUrl?: string;
  /** None: a new directory, deleted on stop. */
  dataDir?: string;
  env?: Record<string, string>;
  /** Which core; null: all of them. */
  core: string | null;
  /** The authority of the certificate that `env` names, where gRPC speaks TLS. */
  ca?: string;
  /** Flags for node beside those of package.json's "start", for a profile. */
  nodeFlags?: readonly string[];
  /** Is told what it prints. */
  onOutput?: (text: string) => void;
}

function environment(
  options: ServiceOptions,
  dataDir: string,
  ports: { grpc: number; http: number },
): NodeJS.ProcessEnv {
  // Nothing of the caller's configuration may change what is measured.
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    // `GRPC_FRONT=false npm run bench` measures the service without its front.
    ...(process.env.GRPC_FRONT === undefined ? {} : { GRPC_FRONT: process.env.GRPC_FRONT }),
    HTTP_HOST: '127.0.0.1',
    HTTP_PORT: String(ports.http),
    GRPC_PORT: String(ports.grpc),
    INTERNAL_API_KEY: `bench:check:${KEY}`,
    DATA_DIR: dataDir,
    ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
    ...options.env,
  };
}

export class Service {
  readonly child: ChildProcess;
  readonly grpcPort: number;
  readonly httpPort: number;
  /** From the spawn to the first good answer to a Check over gRPC. */
  readonly readyMs: number;
  /** CPU used until then, in ms: what a start costs where others use the machine too. */
  readonly readyCpuMs: number;
  /** Where the service keeps its keys. */
  readonly dataDir: string;
  /** Of the link by which a development start signs in to the panel. */
  readonly signInCode: Promise<string>;
  readonly #env: NodeJS.ProcessEnv;
  readonly #deleteOnStop: string | null;

  private constructor(
    child: ChildProcess,
    ports: { grpc: number; http: number },
    readyMs: number,
    env: NodeJS.ProcessEnv,
    dir: string | null,
    signInCode: Promise<string>,
  ) {
    this.child = child;
    this.grpcPort = ports.grpc;
    this.httpPort = ports.http;
    this.readyMs = readyMs;
    this.readyCpuMs = cpuSeconds(pidOf(child)) * 1000;
    this.#env = env;
    this.dataDir = env.DATA_DIR as string;
    this.#deleteOnStop = dir;
    this.signInCode = signInCode;
  }

  /** Starts the service and waits until it answers; rejects with its output when it ends first. */
  static async start(options: ServiceOptions): Promise<Service> {
    const ports = { grpc: await freePort(), http: await freePort() };
    const dir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'usher-bench-'));
    const env = environment(options, dir, ports);
    let output = '';
    const signInCode = Promise.withResolvers<string>();
    const startedAt = performance.now();
    const child = spawnPinned(options.core, [...START_FLAGS, ...PRELOAD, ...(options.nodeFlags ?? []), MAIN, 'serve'], {
      env,
      cwd: ROOT,
      onOutput: (text) => {
        options.onOutput?.(text);
        output = (output + text).slice(-4000);
        const code = /\/panel\/\?code=(\S+)\s/.exec(output)?.[1];
        if (code !== undefined) signInCode.resolve(code);
      },
    });
    while (!(await answersCheck(ports.grpc, options.ca))) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the service ended at once:\n${output}`);
      if (performance.now() - startedAt > READY_TIMEOUT_MS) {
        await stop(child);
        throw new Error(`the service did not answer in ${READY_TIMEOUT_MS} ms:\n${output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const readyMs = performance.now() - startedAt;
    return new Service(child, ports, readyMs, env, options.dataDir === undefined ? dir : null, signInCode.promise);
  }

  get pid(): number {
    return pidOf(this.child);
  }

  get url(): string {
    return `http://127.0.0.1:${this.httpPort}`;
  }

  /** Forgets every cached fact and decision of this instance. */
  async clearCaches(): Promise<void> {
    const response = await fetch(`${this.url}/api/check/cache/clear`, {
      method: 'POST',
      headers: { 'x-internal-api-key': KEY },
    });
    if (!response.ok) throw new Error(`cache/clear answered ${response.status}: ${await response.text()}`);
  }

  /** A token of the local issuer for the first SuperAdmin. */
  async adminToken(): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [...PRELOAD, MAIN, 'token', 'admin@example.com'], {
      env: this.#env,
      cwd: ROOT,
    });
    const token = /[\w-]+\.[\w-]+\.[\w-]+/.exec(stdout)?.[0];
    if (token === undefined) throw new Error('`usher token` printed no token');
    return token;
  }

  async stop(): Promise<void> {
    await stop(this.child);
    if (this.#deleteOnStop !== null) rmSync(this.#deleteOnStop, { recursive: true, force: true });
  }
}

const PROBE = framed(
  encodeCheck({
    email: 'probe@example.com',
    app: 'probe',
    permission: 'probe',
    resourceType: '',
    resourceId: '',
    asked: 0,
  }),
);

/** Asks one question on a new connection. False when nobody listens yet or the answer is an error. */
function answersCheck(port: number, ca: string | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const at = `127.0.0.1:${port}`;
    const session = ca === undefined ? connect(`http://${at}`) : connect(`https://${at}`, { ca });
    const end = (answer: boolean): void => {
      session.destroy();
      resolve(answer);
    };
    session.on('error', () => end(false));
    session.on('close', () => resolve(false));
    const stream = session.request({
      ':method': 'POST',
      ':path': '/usher.permission.v1.PermissionService/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
      'x-internal-api-key': KEY,
    });
    stream.on('error', () => end(false));
    stream.on('response', (headers) => {
      // An error comes in one block, with its status beside the headers.
      if (headers['grpc-status'] !== undefined) end(false);
    });
    stream.on('trailers', (trailers) => end(trailers['grpc-status'] === '0'));
    stream.resume();
    stream.end(PROBE);
  });
}
