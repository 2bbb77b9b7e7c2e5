/** Small line plots over time as one SVG, one below the other, for reports in docs/. */

export interface Series {
  name: string;
  unit: string;
  values: readonly number[];
}

const WIDTH = 760;
const HEIGHT = 120;
const LEFT = 70;
const GAP = 44;

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

function shown(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(1);
}

/** One plot with its name, its largest value and zero beside the axis. */
function plot({ name, unit, values }: Series, top: number): string {
  const highest = Math.max(...values, Number.MIN_VALUE) * 1.05;
  const x = (at: number): number => LEFT + (at / Math.max(1, values.length - 1)) * (WIDTH - LEFT - 10);
  const y = (value: number): number => top + HEIGHT - (value / highest) * HEIGHT;
  const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(' ');
  return [
    `<text x="${LEFT}" y="${top - 8}" font-weight="600">${escaped(name)}</text>`,
    `<path d="M${LEFT} ${top}V${top + HEIGHT}H${WIDTH - 10}" fill="none" stroke="#8888"/>`,
    `<text x="${LEFT - 6}" y="${top + 10}" text-anchor="end">${shown(highest)} ${escaped(unit)}</text>`,
    `<text x="${LEFT - 6}" y="${top + HEIGHT}" text-anchor="end">0</text>`,
    `<polyline points="${points}" fill="none" stroke="#2563eb" stroke-width="1.5"/>`,
  ].join('\n');
}

/** `caption` says what is along the horizontal axis. */
export function plots(caption: string, series: readonly Series[]): string {
  const height = series.length * (HEIGHT + GAP) + 40;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12" role="img">`,
    `<title>${escaped(caption)}</title>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    ...series.map((one, at) => plot(one, 24 + at * (HEIGHT + GAP))),
    `<text x="${LEFT}" y="${height - 14}">${escaped(caption)}</text>`,
    '</svg>\n',
  ].join('\n');
}
