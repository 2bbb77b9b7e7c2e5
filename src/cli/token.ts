import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type GlobalOptions, print } from './io.ts';

const HOURS = 12;

/** `usher token EMAIL`: a bearer token of the local issuer. */
export function defineToken(program: Command, context: Context): void {
  const command = program
    .command('token <email>')
    .summary('make a bearer token with the local issuer')
    .description(
      `Makes a bearer token for a person, valid for ${HOURS} hours. Works only where the service is its own issuer (development); elsewhere tokens come from the identity provider.`,
    )
    .action(async (email: string, _: GlobalOptions, self: Command) => {
      const options = self.optsWithGlobals<GlobalOptions>();
      const { io } = context;
      const { placeOf } = await import('./load-config.ts');
      const place = await placeOf(io, options);
      const { config, dataDir } = place;
      if (config.auth.issuer !== null) {
        throw new CommandFailed(
          `Tokens come from ${config.auth.issuer}: this command makes tokens of a local issuer only.`,
        );
      }
      if (!existsSync(dataDir)) {
        throw new CommandFailed(
          `${dataDir} does not exist: start the service once, or set DATA_DIR to its data directory.`,
        );
      }
      const token = await (await io.local()).signToken(place, email, HOURS * 3600);
      const expiresAt = new Date(Math.floor(io.clock.now() / 1000 + HOURS * 3600) * 1000).toISOString();
      await print(context, options, { token, expiresAt }, token);
    });
  withExamples(command, ['usher token clara@example.com', 'TOKEN=$(usher token clara@example.com)']);
}
