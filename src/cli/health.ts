import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { Argument, type Command } from 'commander';
import type { Config } from '../config/config.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type GlobalOptions, print } from './io.ts';

/** The probes of docs/reference/service.md#health-and-metrics, by the word for each. */
const PROBES = { ready: '/readyz', checks: '/readyz/checks', live: '/healthz' } as const;
type Probe = keyof typeof PROBES;
const WORDS: readonly string[] = Object.keys(PROBES);

/** Below the time limits of probes, so that the reason is still said. */
const ANSWER_MS = 4000;

/** `usher health [ready|checks|live]`: the probe of a container that has no shell and no curl. */
export function defineHealth(program: Command, context: Context): void {
  const command = program
    .command('health')
    .summary('ask the service of this configuration for its health')
    .description(
      'Asks the service that runs here with the same configuration: at OPS_PORT, or without it at the gateway. Ends with 0 if the answer is yes, else with 1.',
    )
    .addArgument(
      new Argument('[probe]', 'ready: everything works; checks: checks are answered; live: the process runs')
        .choices(WORDS)
        .default('ready'),
    )
    .action(async (probe: Probe, _: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const { loadConfig } = await import('./load-config.ts');
      const base = baseOf(await loadConfig(context.io, options));
      const { status, body } = await ask(`${base}${PROBES[probe]}`);
      if (status !== 200) throw new CommandFailed(`${base}${PROBES[probe]} answers ${status}: ${body}`);
      await print(context, options, { probe, healthy: true }, `${probe}: yes`);
    });
  withExamples(command, ['usher health', 'usher health live']);
}

/** Where the probes of this configuration are. */
function baseOf({ ops, http, roles, upstream }: Config): string {
  if (ops !== null) return at('http', ops);
  const isGateway = upstream.address === null && roles.includes('gateway');
  if (isGateway && http.serves.includes('operations')) {
    if (http.tls?.clientCa) throw new CommandFailed('The gateway asks clients for certificates: set OPS_PORT.');
    return at(http.tls === null ? 'http' : 'https', http);
  }
  throw new CommandFailed('This process has no port with probes: set OPS_PORT.');
}

function at(scheme: 'http' | 'https', { host, port }: { host: string; port: number }): string {
  if (port === 0) throw new CommandFailed('The port is 0, so each start picks a new one: set OPS_PORT.');
  // A wildcard address can be listened on but not called.
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `${scheme}://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

async function ask(url: string): Promise<{ status: number; body: string }> {
  const { get } = await import(url.startsWith('https:') ? 'node:https' : 'node:http');
  const signal = AbortSignal.timeout(ANSWER_MS);
  // This machine is asked for a yes or no, and told nothing. A certificate that has been replaced or is over is not a dead service.
  const options = { signal, agent: false, rejectUnauthorized: false };
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url, options, resolve).on('error', reject);
    });
    return { status: answer.statusCode ?? 0, body: (await text(answer)).slice(0, 1000).trim() };
  } catch {
    throw new CommandFailed(
      `${url} ${signal.aborted ? `does not answer within ${ANSWER_MS / 1000} s` : 'cannot be reached'}.`,
    );
  }
}
