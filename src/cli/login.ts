import type { Command } from 'commander';
import { usherCommand } from '../base/command.ts';
import { isSlug } from '../base/grammar.ts';
import { isLoopbackHost } from '../base/ip-address.ts';
import { contextsFile, describeCredential, readContexts, type StoredContext, writeContexts } from './contexts.ts';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, type GlobalOptions, type Io, print } from './io.ts';
import { DEFAULT_URL, openService, readUrl, type Service } from './service.ts';
import { readAll } from './stdin.ts';

interface Options extends GlobalOptions {
  url?: string;
  token?: string;
  key?: string;
}

/** `usher login NAME`: stores a service and a credential as a context. */
export function defineLogin(program: Command, context: Context): void {
  const command = program
    .command('login <name>')
    .summary('store a service and a credential as a context')
    .description(
      [
        'Stores the URL of a service and a credential under a name and makes it the current one: commands use that service unless --url, USHER_URL or --context chooses another.',
        'One request tests the credential; nothing is stored when the service refuses it. The file is usher/contexts.json in $XDG_CONFIG_HOME (else ~/.config), readable only by its owner. The credential is never printed.',
        'With --token - or --key - the credential is read from standard input, which keeps it out of the shell history.',
      ].join('\n\n'),
    )
    .option('--url <url>', 'the service (env: USHER_URL); one of the two must be given')
    .option('--token <jwt>', 'a bearer token (env: USHER_TOKEN; - reads standard input)')
    .option('--key <key>', 'an internal API key (env: USHER_API_KEY; - reads standard input)')
    .action(async (name: string, _: Options, self: Command) => {
      const options = self.optsWithGlobals<Options>();
      const { io } = context;
      const stored = await readStored(io, name, options);
      await verify(await serviceOf(io, stored, options));
      const contexts = await readContexts(io);
      contexts.byName.set(name, stored);
      await writeContexts(io, { ...contexts, current: name });
      const credential = describeCredential(stored);
      const file = contextsFile(io);
      const text = `Now using ${name}: ${stored.url} (credential: ${credential}), stored in ${file}.`;
      await print(context, options, { name, url: stored.url, credential, file }, text);
    });
  withExamples(command, [
    'usher login staging --url https://usher.staging.example.com --token - < token.txt',
    'usher login pipeline --url https://usher.example.com --key - < key.txt',
    'usher login here --url http://localhost:8080',
  ]);
}

async function readStored(io: Io, name: string, options: Options): Promise<StoredContext> {
  if (!isSlug(name)) {
    throw new CommandFailed(
      `${JSON.stringify(name)} is not a context name: lower-case letters and digits, joined by . _ or -, at most 64.`,
      { code: 'VALIDATION_FAILED' },
    );
  }
  const address = options.url || io.env.USHER_URL;
  if (!address) {
    throw new CommandFailed(
      `Which service is ${name}? Give its address: ${usherCommand(`login ${name} --url https://usher.example.com`)}, or ${DEFAULT_URL} for one on this machine.`,
      { code: 'USAGE' },
    );
  }
  const url = readUrl(address);
  const named = options.token !== undefined || options.key !== undefined;
  const token = await credential(io, named ? options.token : io.env.USHER_TOKEN);
  const key = await credential(io, named ? options.key : io.env.USHER_API_KEY);
  if (token !== undefined && key !== undefined) {
    throw new CommandFailed('A context holds a token or a key, not both: give one of them.', { code: 'USAGE' });
  }
  if (token === undefined && key === undefined && !isLoopbackHost(new URL(url).hostname)) {
    throw new CommandFailed('Give a credential with --token or --key (- reads it from standard input).', {
      code: 'USAGE',
    });
  }
  if (url.startsWith('http:') && !isLoopbackHost(new URL(url).hostname)) {
    io.stderr.write(`${url} is not https: anyone on the network path can read the credential.\n`);
  }
  return { url, token, key };
}

async function credential(io: Io, text: string | undefined): Promise<string | undefined> {
  const read = text === '-' ? (await readAll(io.stdin)).trim() : text;
  if (read === '' && text === '-') {
    throw new CommandFailed('Standard input has no credential.', { code: 'USAGE' });
  }
  return read === '' ? undefined : read;
}

/** The service as later commands reach it: without a credential, with the local issuer's. */
function serviceOf(io: Io, { url, token, key }: StoredContext, options: Options): Promise<Service> {
  const named = { url, ...(token === undefined ? {} : { token }), ...(key === undefined ? {} : { key }) };
  const { USHER_TOKEN: _token, USHER_API_KEY: _key, ...env } = io.env;
  return openService({ ...io, env }, { ...(options.config === undefined ? {} : { config: options.config }), ...named });
}

/** One request that writes nothing. A key without the scope for it is valid nevertheless. */
async function verify(service: Service): Promise<void> {
  const { token, key } = service.credentials;
  const question = { app: 'auth', permission: 'panel.access' };
  const own = token !== undefined && key === undefined;
  try {
    await (own
      ? service.call('POST /api/profile/me/check', { body: question })
      : service.call('POST /api/check', { body: { email: 'nobody@example.com', ...question } }, { asks: 'checks' }));
  } catch (error) {
    if (error instanceof CommandFailed && error.code === 'KEY_SCOPE') return;
    throw error;
  }
}
