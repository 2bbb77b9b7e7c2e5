/** `usher serve`: builds and starts the service, prints commands to try, and shuts it down gracefully on a signal. */

import { usherCommand } from '../base/command.ts';
import { createLogger } from '../base/telemetry.ts';
import type { Config } from '../config/config.ts';
import { StartEnded } from '../persistence/open.ts';
import { type App, buildApp, type Parts } from './app.ts';
import { closeInTime } from './closing.ts';
import { applyDemo, demoDecisions } from './demo.ts';
import type { Addresses } from './listeners.ts';
import { Reloader, type ReloadSource } from './reloader.ts';

interface ServeOptions {
  config: Config;
  /** Logged at the start. */
  warnings?: readonly string[];
  /** Writes text for people, apart from log lines. */
  readonly print: (text: string) => void;
  /** Settles with a signal's name when the service is to end. */
  stopped: Promise<string>;
  /** Null where the configuration is read once. */
  reloads?: Reloads | null;
  version: string;
  parts?: Parts;
}

/** A source, and the wish for it. */
export interface Reloads extends ReloadSource {
  /** Calls `wanted` at every SIGHUP from now on, which then ends no process. */
  onHangUp(wanted: () => void): void;
}

const AWAKE_MS = 60_000;

/** Resolves when the service has shut down. Rejects when it could not start. */
export async function serve({
  config,
  warnings = [],
  print,
  stopped,
  version,
  reloads = null,
  parts = {},
}: ServeOptions): Promise<void> {
  const log = parts.log ?? createLogger(config.log.level);
  for (const warning of warnings) log.warn(warning);
  const reloader = reloads === null ? null : new Reloader(reloads, log);
  reloads?.onHangUp(() => reloader?.request());
  if (config.upstream.address !== null) {
    const { serveEdge } = await import('./serve-edge.ts');
    await serveEdge({ config, log, print, stopped, version, reloader });
    return;
  }
  // Parts that were passed in cannot be transferred to a thread.
  const threads = Object.keys(parts).length === 0;
  const app = await built(() => {
    const ending = new AbortController();
    void stopped.then(() => ending.abort());
    return buildApp(config, { threads, version, ...parts, log, ending: ending.signal });
  });
  if (app === null) {
    log.info('closed before the database was there');
    return;
  }
  let late: Error | null = null;
  try {
    let demo = false;
    // Before the listeners open: a client that waits for /readyz, or for the port, finds the demonstration.
    const addresses = await app.start(async () => {
      demo = await applyDemo(app);
    });
    log.info({ version, ...addresses, database: app.database.kind }, 'ready');
    if (!config.production) print(banner(app, addresses, version, demo ? await demoDecisions(app) : []));
    reloader?.begin(app);
    const signal = await stopped;
    log.info({ signal }, 'shutting down; finishing requests in flight');
  } finally {
    await reloader?.stop();
    late = await closeInTime(app, config.shutdown.noticeMs);
  }
  if (late !== null) throw late;
  log.info('closed');
}

/** Null when a signal ended the wait for the database. */
async function built(build: () => Promise<App>): Promise<App | null> {
  // The timers of a wait keep no process alive.
  const awake = setInterval(() => undefined, AWAKE_MS);
  try {
    return await build();
  } catch (error) {
    if (error instanceof StartEnded) return null;
    throw error;
  } finally {
    clearInterval(awake);
  }
}

/** The text for a developer when the service is ready: its addresses, and commands that work on it as it is. */
function banner(app: App, at: Addresses, version: string, decisions: string[]): string {
  const { config, database } = app;
  const where = database.kind === 'pglite' ? `${config.dataDir} (embedded PostgreSQL)` : 'PostgreSQL';
  const lines = [
    `Usher ${version}`,
    '',
    ...(at.rest ? [`  REST  ${at.rest}`] : []),
    ...(at.grpc ? [`  gRPC  ${at.grpc}    (usher.permission.v1.PermissionService)`] : []),
    ...(at.ops ? [`  ops   ${at.ops}/metrics`] : []),
    ...at.listeners.map((one) => `  ${one.for.padEnd(4)}  ${one.at}`),
    `  data  ${where}`,
    '',
    ...(decisions.length > 0 ? demonstrationLines(app, at, decisions) : offerLines(app)),
    ...(at.rest
      ? [
          'And in a browser:',
          '',
          ...panelLines(app),
          `  ${app.publicUrl()}/api/docs    every call, with examples, to try`,
          `  ${app.publicUrl()}/dev/mail    mail that no brand can send, kept here`,
          '',
        ]
      : []),
  ];
  return `\n${lines.join('\n')}\n`;
}

/** The link to the panel. With the local issuer it carries the code of this start, which lets anyone who opens it sign in. */
function panelLines({ config, developmentSignIn, publicUrl }: App): string[] {
  if (!config.panel.enabled || !config.http.serves.includes('panel')) return [];
  const query = developmentSignIn === null ? '' : `?code=${developmentSignIn.code}`;
  return [`  Open the panel: ${publicUrl()}/panel/${query}`];
}

/** The demonstration, with questions to try. */
function demonstrationLines({ config, localKey }: App, { rest }: Addresses, decisions: string[]): string[] {
  const lines = [
    'Two decisions in the demonstration, examples/demo.yaml:',
    '',
    ...decisions.map((line) => `  ${line}`),
    '',
  ];
  if (rest === null) return lines;
  const options = rest === 'http://127.0.0.1:8080' ? '' : ` --url ${rest}`;
  const key = localKey === null ? " -H 'x-internal-api-key: YOUR_KEY'" : '';
  const question = '{"email":"clara@example.com","app":"atelier","permission":"project.access"}';
  const commands = [
    'check clara@example.com atelier invoice.access --level edit',
    'effective ben@example.com atelier',
    'apply examples/demo.yaml --dry-run',
  ].map((args) => `  ${usherCommand(args + options)}`);
  return [
    ...lines,
    'Try next, in another terminal:',
    '',
    `  curl -s ${rest}/api/check${key} -H 'content-type: application/json' -d '${question}'`,
    ...(config.auth.issuer === null ? commands : []),
    '',
  ];
}

/** The demonstration can be loaded beside a service on PostgreSQL; an embedded database is this process's alone. */
function offerLines({ database }: App): string[] {
  if (database.kind !== 'postgresql') return [];
  return [
    'This database holds no demonstration. To load one (application atelier), in another terminal:',
    '',
    `  ${usherCommand('demo')}`,
    '',
  ];
}
