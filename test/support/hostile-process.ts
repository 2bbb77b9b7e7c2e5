/**
 * A service in a process of its own that says how long its event loop was held: for the tests in attacks/. Orders come as one
 * JSON argument. Told `measure`, it begins anew; told `tell`, it says the longest and the 99th percentile in milliseconds: `delay`
 * by the clock, which counts what other processes of a shared machine take, and `held` by the thread's own CPU time; and the most
 * memory that it has ever had resident, in MiB.
 */

import { createHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { buildApp } from '../../src/app/app.ts';
import { createLogger } from '../../src/base/telemetry.ts';
import { toConfig } from '../../src/config/config.ts';

const { env } = JSON.parse(process.argv[2] ?? '') as { env: Record<string, string> };
const app = await buildApp(toConfig({ env }), { log: createLogger('silent') });
const { rest, grpc } = await app.start();
const token = await app.localIssuer?.sign('admin@example.com');
process.stdout.write(`${JSON.stringify({ rest, grpc, token })}\n`);

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const held = createHistogram();
let used = process.threadCpuUsage();
setInterval(() => {
  const { user, system } = process.threadCpuUsage(used);
  used = process.threadCpuUsage();
  held.record(Math.max(1, Math.round((user + system) * 1000)));
}, 1);

createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'measure') for (const histogram of [delay, held]) histogram.reset();
  const rss = Math.round(process.resourceUsage().maxRSS / 1024);
  if (line === 'tell') process.stdout.write(`${JSON.stringify({ delay: shown(delay), held: shown(held), rss })}\n`);
});

function shown(histogram: { max: number; percentile(of: number): number }): { max: number; p99: number } {
  const ms = (ns: number): number => Math.round(ns / 1e4) / 100;
  return { max: ms(histogram.max), p99: ms(histogram.percentile(99)) };
}
