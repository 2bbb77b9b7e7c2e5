import type { Command } from 'commander';
import { usherCommand } from '../base/command.ts';
import { withExamples } from './help.ts';
import { type Context, formatOf, type GlobalOptions } from './io.ts';

interface ServeOptions extends GlobalOptions {
  readonly upstream?: string;
}

/** An option counts more than its variable. */
function withUpstream(io: Context['io'], { upstream }: ServeOptions): Context['io'] {
  return upstream === undefined ? io : { ...io, env: { ...io.env, UPSTREAM_ADDRESS: upstream } };
}

/** `usher serve`: runs the service until a signal ends it. */
export function defineServe(program: Command, context: Context): void {
  const command = program
    .command('serve')
    .summary('run the service')
    .description(
      `Runs the service until SIGINT or SIGTERM, then lets requests in flight finish: ${usherCommand('serve')}`,
    )
    .option(
      '--upstream <host:port>',
      'run as an edge of another Usher: without a database, it answers gRPC from facts that it asks there (UPSTREAM_ADDRESS)',
    )
    .action(async (_: ServeOptions, self: Command) => {
      const options = self.optsWithGlobals<ServeOptions>();
      const io = withUpstream(context.io, options);
      const [{ readRawConfig }, { checked }, { misspelledVariables }, checks] = await Promise.all([
        import('./load-config.ts'),
        import('../config/config.ts'),
        import('../config/hints.ts'),
        io.configChecks(),
      ]);
      const read = () => readRawConfig(io, options);
      const warnings = misspelledVariables(io.env);
      const load = async () => checked(await read(), checks);
      const running = await load().catch((error: unknown) => {
        // A misspelled variable is often the missing one.
        if (formatOf(options) === 'table') for (const line of warnings) io.stderr.write(`${line}\n`);
        throw error;
      });
      await io.serve({
        config: running.config,
        reloads: { running, checks, read, onHangUp: io.onHangUp },
        warnings,
        // A program reads the log, which is JSON already.
        print: (text) => {
          if (formatOf(options) === 'table') io.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
        },
        stopped: io.stopped(),
        version: io.version,
      });
    });
  withExamples(command, [
    'usher serve',
    'usher serve --config usher.yaml',
    'usher serve --upstream usher.internal:50051',
  ]);
}
