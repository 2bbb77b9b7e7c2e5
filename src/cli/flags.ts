/** Options that several commands share. Commander adds the option's name to their messages. */

import { InvalidArgumentError, Option } from 'commander';
import type { Clock } from '../base/clock.ts';
import { isReason, REASON_RULE } from '../base/reason.ts';

const MOST = 100_000;

/** `--limit N`: the number of rows to list. */
export function limitOption(fallback = 50): Option {
  return new Option('--limit <n>', `the number of rows to list, 1 to ${MOST}`).default(fallback).argParser((text) => {
    const limit = Number(text);
    if (/^\d+$/.test(text) && limit >= 1 && limit <= MOST) return limit;
    throw new InvalidArgumentError(`Must be a whole number from 1 to ${MOST}.`);
  });
}

/** `--level LEVEL`: the least level that will do. */
export function levelOption(): Option {
  return new Option('--level <level>', 'the level that is needed').choices(['view', 'edit']);
}

/** The level as a member of a question; none without the option. */
export function atLevel(level: 'view' | 'edit' | undefined): { accessLevel?: 'view' | 'edit' } {
  return level === undefined ? {} : { accessLevel: level };
}

/** `--reason TEXT`: why, of a command that writes. */
export function reasonOption(): Option {
  return new Option('--reason <text>', `why, for the audit: ${REASON_RULE}`).argParser((text) => {
    if (isReason(text)) return text;
    throw new InvalidArgumentError(`Must be ${REASON_RULE}.`);
  });
}

const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A moment: a date, a date and time (UTC without an offset), or an age such as 90m, 24h or 7d. */
export function momentOption(flags: string, description: string, clock: Clock): Option {
  return new Option(flags, description).argParser((text) => {
    const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
    if (count !== undefined)
      return new Date(clock.now() - Number(count) * UNITS[unit as keyof typeof UNITS]).toISOString();
    const [, date, time = 'T00:00', offset = 'Z'] =
      /^(\d{4}-\d\d-\d\d)(?:([T ]\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)(Z|[+-]\d\d:\d\d)?)?$/.exec(text) ?? [];
    const at = date === undefined ? Number.NaN : Date.parse(`${date}${time.replace(' ', 'T')}${offset}`);
    if (Number.isNaN(at)) {
      throw new InvalidArgumentError('Must be a date, a date and time, or an age: 2026-11-30, 2026-11-30T09:30Z, 24h.');
    }
    return new Date(at).toISOString();
  });
}
