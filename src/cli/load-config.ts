/** The configuration of a command: `--config` or USHER_CONFIG, overridden by the environment. */

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf } from '../base/members.ts';
import { type Config, type RawConfig, toConfig } from '../config/config.ts';
import { CommandFailed, type GlobalOptions, type Io, type Place } from './io.ts';
import { readSecretFiles } from './secret-files.ts';

/** Reads the file, if one is configured, the files of secrets, and nothing else. */
export async function readRawConfig(io: Io, options: GlobalOptions): Promise<RawConfig> {
  const secretFiles = await readSecretFiles(io);
  const named = options.config ?? io.env.USHER_CONFIG;
  if (named === undefined || named === '') return { env: io.env, secretFiles };
  const path = resolve(io.cwd, named);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const reason = codeOf(error) === 'ENOENT' ? 'does not exist' : 'cannot be read';
    throw new CommandFailed(`The configuration file ${path} ${reason}.`);
  }
  const { parseDocument, visit } = await import('yaml');
  const document = parseDocument(text, { prettyErrors: true, logLevel: 'error' });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) {
    const at = problem.linePos?.[0];
    const where = at ? `:${at.line}:${at.col}` : '';
    throw new CommandFailed(`The configuration file ${path}${where} is not YAML: ${problem.message.split('\n')[0]}`);
  }
  // Numbers as written: identifiers of 18 digits (an audience, an organization) lose digits as JavaScript numbers.
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'number' && node.source !== undefined) node.value = node.source;
    },
  });
  return { env: io.env, file: document.toJS() as unknown, secretFiles };
}

/** The checked configuration; throws ConfigError with every fault. */
export async function loadConfig(io: Io, options: GlobalOptions): Promise<Config> {
  return toConfig(await readRawConfig(io, options), await io.configChecks());
}

/** The absolute path of the data directory. */
export function dataDirOf(io: Io, config: Config): string {
  return resolve(io.cwd, config.dataDir);
}

/** The configured database and data directory, for commands that work in them. */
export async function placeOf(io: Io, options: GlobalOptions): Promise<Place> {
  const config = await loadConfig(io, options);
  return { config, dataDir: dataDirOf(io, config), clock: io.clock };
}
