/** How a failed command ends: one clear line on stderr, details below it, and a non-zero exit code. */

import { CommanderError } from 'commander';
import { usherCommand } from '../base/command.ts';
import { UsherError } from '../base/errors.ts';
import { codeOf } from '../base/members.ts';
import { Refused } from '../persistence/driver/refused.ts';
import { CommandFailed, type Io } from './io.ts';

/** Prints the failure; returns the exit code. */
export async function reportFailure(io: Io, error: unknown, json: boolean): Promise<number> {
  // Commander has printed its own text: help, the version or, for people, the fault in the arguments.
  if (error instanceof CommanderError && (error.exitCode === 0 || !json)) return error.exitCode === 0 ? 0 : 1;
  const failure = await toFailure(error);
  if (json) {
    const { message, code, details } = failure;
    io.stderr.write(`${JSON.stringify({ success: false, code, message, ...(details ? { details } : {}) })}\n`);
  } else {
    io.stderr.write(`${[failure.message, ...failure.lines.map((line) => `  ${line}`)].join('\n')}\n`);
  }
  return failure.exitCode;
}

async function toFailure(error: unknown): Promise<CommandFailed> {
  if (error instanceof CommandFailed) return error;
  if (error instanceof CommanderError) return wrongArguments(error);
  const { ConfigError } = await import('../config/config.ts');
  if (error instanceof ConfigError) {
    const lines = error.faults.map(
      ({ key, variable, problem }) => `${key}${variable ? ` (${variable})` : ''}: ${problem}`,
    );
    return new CommandFailed('The configuration is invalid:', {
      lines,
      code: 'CONFIGURATION',
      details: { faults: error.faults },
    });
  }
  if (error instanceof UsherError) {
    return new CommandFailed(error.message, { code: error.reason ?? error.code, details: error.details });
  }
  if (error instanceof Refused) return new CommandFailed(error.message, { code: 'DATABASE' });
  const code = codeOf(error);
  if (code === 'EADDRINUSE') return new CommandFailed(portTaken(error as NodeJS.ErrnoException), { code });
  const unusable = unusablePath(error) ?? unusableAddress(error);
  if (unusable !== null) return new CommandFailed(unusable, { code: 'CONFIGURATION' });
  // A defect of this program: only the stack helps.
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new CommandFailed('Internal error: this is a defect of usher.', {
    lines: stack.split('\n'),
    code: 'INTERNAL',
  });
}

function wrongArguments({ code, message }: CommanderError): CommandFailed {
  const wrong =
    code === 'commander.help' ? 'A command is missing' : message.replace(/^error: /, '').replace(/\n/g, ' ');
  const end = /[.)]$/.test(wrong) ? '' : '.';
  return new CommandFailed(`${wrong}${end} ${usherCommand('--help')} lists the commands.`, { code: 'USAGE' });
}

function portTaken(error: NodeJS.ErrnoException & { address?: string; port?: number }): string {
  const at = error.port === undefined ? '' : ` ${error.address ?? ''}:${error.port}`;
  return `The address${at} is taken by another process: stop it, or choose another port (HTTP_PORT, GRPC_PORT, OPS_PORT).`;
}

/** The sentence for a path that this process may not use, with the configuration key; null for any other error. */
function unusablePath(error: unknown): string | null {
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (path === undefined || !['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'ENOSPC'].includes(code ?? '')) return null;
  return `${path} cannot be used (${code}): dataDir (DATA_DIR) must be a folder that this user can write to, for example .usher.`;
}

/** The sentence for an address that cannot be listened on, with the configuration keys; null for any other error. */
function unusableAddress(error: unknown): string | null {
  const { code, syscall, address, hostname, port } = (error ?? {}) as NodeJS.ErrnoException & {
    address?: string;
    hostname?: string;
    port?: number;
  };
  if (syscall === 'getaddrinfo' || code === 'EADDRNOTAVAIL') {
    return `${hostname ?? address ?? 'The host'} is not an address of this machine (${code}): set http.host, grpc.host or ops.host (HTTP_HOST, GRPC_HOST, OPS_HOST), for example 127.0.0.1.`;
  }
  if (code !== 'EACCES' || syscall !== 'listen') return null;
  return `Port ${port ?? ''} needs more rights than this user has: choose another one (HTTP_PORT, GRPC_PORT, OPS_PORT), for example 8080.`;
}
