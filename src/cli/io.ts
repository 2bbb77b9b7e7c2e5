/** The parts of the process that a command may use: passed in by main.ts, which alone reads process.*, or by a test. */

import type { Clock } from '../base/clock.ts';
import type { Checked, Config, ConfigCheck, RawConfig } from '../config/config.ts';

export interface Output {
  write(text: string): unknown;
  /** Whether it is a terminal. */
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The body of `usher serve`: app/serve.ts. Resolves when the service has shut down cleanly. */
export type Serve = (options: {
  config: Config;
  /** Logged at the start: environment variables that are probably misspelled. */
  warnings?: readonly string[];
  print(text: string): void;
  stopped: Promise<string>;
  reloads: {
    readonly running: Checked;
    readonly checks: readonly ConfigCheck[];
    read(): Promise<RawConfig>;
    readonly onHangUp: (wanted: () => void) => void;
  };
  version: string;
}) => Promise<void>;

/** The body of `usher demo`: app/demo.ts. Resolves to the changes, a PlanAnswer. */
export type Demo = (options: { config: Config }) => Promise<unknown>;

/** The body of `usher doctor`: app/doctor/doctor.ts. Resolves to what was found. */
export type Doctor = (options: {
  config: Config;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** The configuration file and those of secrets. */
  secretFiles: readonly string[];
}) => Promise<readonly DoctorFinding[]>;

/** A line of its answer, as app/doctor/finding.ts has it. */
export interface DoctorFinding {
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failed';
  readonly found: string;
  readonly advice: string | null;
}

/** Where commands work that ask no service. */
export interface Place {
  readonly config: Config;
  /** An absolute path. */
  readonly dataDir: string;
  readonly clock: Clock;
}

/** The work of those commands: app/local.ts. */
export interface LocalWork {
  /** A bearer token of the local issuer. */
  signToken(place: Place, email: string, seconds: number): Promise<string>;
  /** The names of the migrations that were applied. */
  migrate(place: Place): Promise<readonly string[]>;
  /** Ends the upgrade of a migrated database; false where it was ended before. `force` passes over sessions of the version before. */
  finishUpgrade(place: Place, force: boolean): Promise<boolean>;
  /** Of the embedded database. `usher` is the version that writes it. */
  backUp(
    place: Place,
    backup: { file: string; force: boolean; usher: string },
  ): Promise<{ readonly bytes: number; readonly sha256: string }>;
  restore(
    place: Place,
    backup: { file: string; force: boolean },
  ): Promise<{ readonly createdAt: string; readonly usher: string }>;
  /** Gives the database a new history. */
  reincarnate(place: Place, reason: string | undefined): Promise<{ revisions: number; revision: string }>;
  /** Whether the person became one by this. `subject` is the account of their address; null leaves it as it is. */
  addSuperadmin(place: Place, email: string, subject: string | null, reason: string | undefined): Promise<boolean>;
  /** Whether the person was one before. */
  removeSuperadmin(place: Place, email: string, reason: string | undefined): Promise<boolean>;
  /** By address. */
  superadmins(place: Place): Promise<readonly { readonly email: string; readonly active: boolean }[]>;
}

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The base of relative paths. */
  readonly cwd: string;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** From this call on a signal no longer ends the process; the promise resolves to its name instead. */
  stopped(): Promise<string>;
  /** From this call on SIGHUP ends no process, but where it says that the terminal is gone; `told` is called instead. */
  readonly onHangUp: (told: () => void) => void;
  readonly serve: Serve;
  readonly demo: Demo;
  readonly doctor: Doctor;
  readonly local: () => Promise<LocalWork>;
  /** Checks of keys whose grammar belongs to a feature: app/config-checks.ts. */
  readonly configChecks: () => Promise<readonly ConfigCheck[]>;
  readonly version: string;
  readonly clock: Clock;
}

/** A failure that a command explains itself: `message` is one line for people, `lines` follow it. */
export class CommandFailed extends Error {
  readonly lines: readonly string[];
  /** For `--json`. */
  readonly code: string;
  readonly details: Record<string, unknown> | undefined;
  /** How the command then ends. */
  readonly exitCode: number;

  constructor(
    message: string,
    {
      lines = [],
      code = 'FAILED',
      details,
      exitCode = 1,
    }: {
      lines?: readonly string[];
      code?: string;
      details?: Record<string, unknown> | undefined;
      exitCode?: number;
    } = {},
  ) {
    super(message);
    this.name = 'CommandFailed';
    this.lines = lines;
    this.code = code;
    this.details = details;
    this.exitCode = exitCode;
  }
}

/** The arguments of every command's definition. */
export interface Context {
  readonly io: Io;
  /** The exit code of a command that does not fail; 0 unless the command sets it. */
  exitCode: number;
}

export const FORMATS = ['table', 'json', 'yaml'] as const;
/** How a result is printed: `table` is the text for people, with a table where there are rows. */
export type Format = (typeof FORMATS)[number];

/** The options of every command. */
export interface GlobalOptions {
  config?: string;
  json?: boolean;
  output?: Format;
}

/** The format of the options; `--json` is short for `--output json`. */
export function formatOf({ json, output }: GlobalOptions): Format {
  return output ?? (json ? 'json' : 'table');
}

/** Prints a command's result: `value` for programs, `text` for people. */
export async function print({ io }: Context, options: GlobalOptions, value: unknown, text: string): Promise<void> {
  const output = await inFormat(formatOf(options), value, text);
  io.stdout.write(output.endsWith('\n') ? output : `${output}\n`);
}

async function inFormat(format: Format, value: unknown, text: string): Promise<string> {
  if (format === 'json') return JSON.stringify(value, null, 2);
  if (format === 'table') return text;
  const { stringify } = await import('yaml');
  // Through JSON, so that both formats agree: no undefined, dates as text, equal records without anchors.
  return stringify(JSON.parse(JSON.stringify(value)), { aliasDuplicateObjects: false });
}
