import type { Command } from 'commander';
import { usherCommand } from '../base/command.ts';
import type { Config } from '../config/config.ts';
import { withExamples } from './help.ts';
import { type Context, type DoctorFinding, type GlobalOptions, type Io, print } from './io.ts';
import { painter } from './terminal.ts';

const COLORS = { ok: 'green', warning: 'yellow', failed: 'red' } as const;

/** `usher doctor`: what of the things that a service depends on is not as it should be. */
export function defineDoctor(program: Command, context: Context): void {
  const command = program
    .command('doctor')
    .summary('check everything that the service depends on')
    .description(
      'Checks the configuration, Node.js, the database, the proxy of requests, the identity provider, the SMTP server of each brand, push, files of secrets, certificates and ports, beside a running service or without one. It sends no mail and changes nothing, unless a token endpoint renews a refresh token. Exits with 1 if a check failed.',
    )
    .action(async (_: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const { io } = context;
      const findings = await examine(context, options);
      const counts = { ok: 0, warning: 0, failed: 0 };
      for (const { result } of findings) counts[result]++;
      const paint = painter(io, io.stdout);
      const lines = findings.flatMap(({ check, result, found, advice }) => {
        const line = `${paint(COLORS[result], result.padEnd(7))}  ${check.padEnd(13)}  ${found}`;
        return advice === null ? [line] : [line, `${' '.repeat(24)}${advice}`];
      });
      const sum = `${counts.ok} ok, ${counts.warning} warnings, ${counts.failed} failed`;
      await print(context, options, { findings, ...counts }, [...lines, '', sum].join('\n'));
      if (counts.failed > 0) context.exitCode = 1;
    });
  withExamples(command, ['usher doctor', 'usher doctor --config usher.yaml', 'usher doctor --json']);
}

async function examine({ io }: Context, options: GlobalOptions): Promise<readonly DoctorFinding[]> {
  const [{ dataDirOf, loadConfig }, { ConfigError }, { fileVariables }] = await Promise.all([
    import('./load-config.ts'),
    import('../config/config.ts'),
    import('../config/secrets.ts'),
  ]);
  try {
    const config = await loadConfig(io, options);
    const file = options.config ?? io.env.USHER_CONFIG;
    const named = [file, ...fileVariables().map((variable) => io.env[variable])];
    const secretFiles = named.flatMap((path) => (path === undefined || path === '' ? [] : [path]));
    const { env, cwd } = io;
    const beside = await besideRunning(io, options, config);
    const found = await io.doctor({ config: { ...config, dataDir: dataDirOf(io, config) }, env, cwd, secretFiles });
    return [...beside, ...found];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // Nothing else can be looked at without it.
    return error.faults.map(({ key, variable, problem }) => {
      const where = variable === undefined ? key : `${key} (${variable})`;
      return { check: 'configuration', result: 'failed', found: `${where}: ${problem}`, advice: `Mend ${where}.` };
    });
  }
}

/** Everything below is looked at by this configuration: another one of the service that runs is told first. */
async function besideRunning(io: Io, options: GlobalOptions, config: Config): Promise<readonly DoctorFinding[]> {
  const { differsFromRunning } = await import('./running.ts');
  const differing = await differsFromRunning(io, options, config);
  if (differing === null) return [];
  const { url, keys } = differing;
  const found = `the service that runs at ${url} was started with other values of ${keys.join(', ')}`;
  const advice = `Run doctor with its environment and file; ${usherCommand(`config --url ${url}`)} shows what it was started with.`;
  return [{ check: 'configuration', result: 'warning', found, advice }];
}
