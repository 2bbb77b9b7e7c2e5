/** What a command may touch of the process: handed in by main.ts, which alone reads process.*, or by a test. */

import type { Clock } from '../base/clock.ts';
import type { Config } from '../config/config.ts';

export interface Output {
  write(text: string): unknown;
  /** Whether a person looks at it. */
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** What `usher serve` runs: app/serve.ts. Resolves when the service has ended in good order. */
export type Serve = (options: {
  config: Config;
  /** For the log, at the start: what in the environment is probably a mistake. */
  warnings?: readonly string[];
  print(text: string): void;
  stopped: Promise<string>;
  version: string;
}) => Promise<void>;

/** What `usher demo` runs: app/demo.ts. Answers what it changed, a PlanAnswer. */
export type Demo = (options: { config: Config }) => Promise<unknown>;

export interface Io {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What relative paths are relative to. */
  readonly cwd: string;
  readonly stdin: AsyncIterable<string | Uint8Array>;
  readonly stdout: Output;
  readonly stderr: Output;
  /** From this call on a signal does not end the process; the promise settles with its name instead. */
  stopped(): Promise<string>;
  readonly serve: Serve;
  readonly demo: Demo;
  readonly version: string;
  readonly clock: Clock;
}

/** A failure that a command explains itself: `message` is one line for people, `lines` what follows it. */
export class CommandFailed extends Error {
  readonly lines: readonly string[];
  /** For `--json`. */
  readonly code: string;
  readonly details: Record<string, unknown> | undefined;

  constructor(
    message: string,
    {
      lines = [],
      code = 'FAILED',
      details,
    }: { lines?: readonly string[]; code?: string; details?: Record<string, unknown> | undefined } = {},
  ) {
    super(message);
    this.name = 'CommandFailed';
    this.lines = lines;
    this.code = code;
    this.details = details;
  }
}

/** What every command is defined with. */
export interface Context {
  readonly io: Io;
  /** What the process ends with when nothing fails; 0 unless a command sets it. */
  exitCode: number;
}

export const FORMATS = ['table', 'json', 'yaml'] as const;
/** How a result is printed: `table` is the text for people, which is a table where there are rows. */
export type Format = (typeof FORMATS)[number];

/** Options that every command has. */
export interface GlobalOptions {
  config?: string;
  json?: boolean;
  output?: Format;
}

/** The format that the options ask for; `--json` is short for `--output json`. */
export function formatOf({ json, output }: GlobalOptions): Format {
  return output ?? (json ? 'json' : 'table');
}

/** Writes a command's result: `value` for programs, `text` for people. */
export async function print({ io }: Context, options: GlobalOptions, value: unknown, text: string): Promise<void> {
  const shown = await inFormat(formatOf(options), value, text);
  io.stdout.write(shown.endsWith('\n') ? shown : `${shown}\n`);
}

async function inFormat(format: Format, value: unknown, text: string): Promise<string> {
  if (format === 'json') return JSON.stringify(value, null, 2);
  if (format === 'table') return text;
  const { stringify } = await import('yaml');
  // As JSON reads it, so that both formats say the same: no undefined, dates as text, equal records without anchors.
  return stringify(JSON.parse(JSON.stringify(value)), { aliasDuplicateObjects: false });
}
