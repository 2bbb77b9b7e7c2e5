/** The ladder as one SVG: calls a second of each server over the number of connections, on a logarithmic axis. */
import { median } from './report.ts';
import { RUNGS, type RungName, type Setting } from './rungs.ts';

const WIDTH = 760;
const HEIGHT = 220;
const LEFT = 70;
const TOP = 34;
const GAP = 70;
const COLORS: Record<RungName, string> = {
  'bare, default heap': '#cbd5e1',
  bare: '#64748b',
  'without the front': '#93c5fd',
  'with the front': '#2563eb',
};
/** Of the axis, in calls a second. */
const LOWEST = 1000;
const HIGHEST = 1_000_000;
const GRID = [1000, 10_000, 100_000, 1_000_000];

function y(rate: number, top: number): number {
  const share = Math.log(Math.max(rate, LOWEST) / LOWEST) / Math.log(HIGHEST / LOWEST);
  return top + HEIGHT - Math.min(1, share) * HEIGHT;
}

function rateOf({ runs }: Setting, name: RungName): number {
  return median(runs.flatMap((steps) => steps.get(name)?.perSecond ?? []));
}

function panel(title: string, top: number, connections: readonly number[], settings: readonly Setting[]): string {
  const group = (WIDTH - LEFT - 10) / connections.length;
  const bar = (group - 24) / RUNGS.length;
  const bars = settings.flatMap((setting, at) =>
    RUNGS.map((name, place) => {
      const rate = rateOf(setting, name);
      const [x, height] = [LEFT + at * group + 12 + place * bar, top + HEIGHT - y(rate, top)];
      return [
        `<rect x="${x.toFixed(1)}" y="${y(rate, top).toFixed(1)}" width="${(bar - 3).toFixed(1)}" height="${height.toFixed(1)}" fill="${COLORS[name]}"/>`,
        `<text x="${(x + bar / 2 - 1).toFixed(1)}" y="${(y(rate, top) - 4).toFixed(1)}" text-anchor="middle" font-size="10">${(rate / 1000).toFixed(0)}k</text>`,
      ].join('');
    }),
  );
  const grid = GRID.map(
    (rate) =>
      `<path d="M${LEFT} ${y(rate, top)}H${WIDTH - 10}" stroke="#8884"/><text x="${LEFT - 6}" y="${y(rate, top) + 4}" text-anchor="end">${rate / 1000}k/s</text>`,
  );
  const names = connections.map(
    (count, at) =>
      `<text x="${LEFT + at * group + group / 2}" y="${top + HEIGHT + 16}" text-anchor="middle">${count}</text>`,
  );
  return [
    `<text x="${LEFT}" y="${top - 14}" font-weight="600">${title}</text>`,
    ...grid,
    ...bars,
    ...names,
    `<text x="${LEFT - 6}" y="${top + HEIGHT + 16}" text-anchor="end">connections</text>`,
  ].join('\n');
}

export function ladderPlot(connections: readonly number[], hot: readonly Setting[], late: readonly Setting[]): string {
  const height = TOP + 2 * (HEIGHT + GAP) + 10;
  const key = RUNGS.map(
    (name, at) =>
      `<rect x="${LEFT + at * 165}" y="${height - 24}" width="12" height="12" fill="${COLORS[name]}"/><text x="${LEFT + at * 165 + 18}" y="${height - 14}">${name}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img">`,
    '<title>Check, calls a second of one core</title>',
    '<rect width="100%" height="100%" fill="#fff"/>',
    panel('Check, 100 hot questions: calls a second of one core', TOP, connections, hot),
    panel('The same, another deadline in each call', TOP + HEIGHT + GAP, connections, late),
    ...key,
    '</svg>\n',
  ].join('\n');
}
