/** Statistics of deliveries as bars by the hour, and the reasons of what did not arrive. */

import type { Out } from '../../../../src/gen/api.ts';

export type StatRow = Out<'GET /api/admin/notifications/stats'>[number];

export interface Bar {
  /** ISO time of the beginning of its hour. */
  readonly hour: string;
  readonly sent: number;
  readonly failed: number;
}

interface ReasonCount {
  readonly reason: string;
  readonly count: number;
  /** The slugs of the brands concerned. */
  readonly brands: readonly string[];
}

const HOUR_MS = 3_600_000;

/** One bar for each hour of the last `hours` before `now`, also where nothing was delivered; the oldest first. */
export function barsOf(rows: readonly StatRow[], hours: number, now: number): readonly Bar[] {
  const last = Math.floor(now / HOUR_MS) * HOUR_MS;
  const bars = new Map<number, { sent: number; failed: number }>();
  for (let at = last - hours * HOUR_MS; at <= last; at += HOUR_MS) bars.set(at, { sent: 0, failed: 0 });
  for (const { hour, reason, count } of rows) {
    const bar = bars.get(Math.floor(Date.parse(hour) / HOUR_MS) * HOUR_MS);
    if (bar === undefined) continue;
    if (reason === null) bar.sent += count;
    else bar.failed += count;
  }
  return [...bars].map(([at, counts]) => ({ hour: new Date(at).toISOString(), ...counts }));
}

/** Why deliveries did not arrive, the most frequent first. */
export function reasonsOf(rows: readonly StatRow[]): readonly ReasonCount[] {
  const found = new Map<string, { count: number; brands: Set<string> }>();
  for (const { reason, count, brand } of rows) {
    if (reason === null) continue;
    const one = found.get(reason) ?? { count: 0, brands: new Set<string>() };
    one.count += count;
    one.brands.add(brand);
    found.set(reason, one);
  }
  return [...found]
    .map(([reason, { count, brands }]) => ({ reason, count, brands: [...brands].sort() }))
    .sort((a, b) => b.count - a.count || a.reason.localeCompare(b.reason));
}

/** The top of the scale: the next 1, 2 or 5 with zeros that holds the highest bar. */
export function ceilingOf(bars: readonly Bar[]): number {
  const highest = Math.max(1, ...bars.map(({ sent, failed }) => sent + failed));
  const power = 10 ** Math.floor(Math.log10(highest));
  return ([1, 2, 5, 10].find((step) => step * power >= highest) ?? 10) * power;
}

interface Totals {
  readonly sent: number;
  readonly failed: number;
}

export function totalsOf(bars: readonly Bar[]): Totals {
  return bars.reduce((sum, { sent, failed }) => ({ sent: sum.sent + sent, failed: sum.failed + failed }), {
    sent: 0,
    failed: 0,
  });
}
