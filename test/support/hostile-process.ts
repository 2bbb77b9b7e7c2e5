/**
 * A service in a process of its own that says how long its event loop was held: for attacks/templates.test.ts. Orders come as one
 * JSON argument. Told `measure`, it begins anew; told `tell`, it says the longest and the 99th percentile in milliseconds.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { buildApp } from '../../src/app.ts';
import { toConfig } from '../../src/config.ts';
import { createLogger } from '../../src/telemetry.ts';

const { env } = JSON.parse(process.argv[2] ?? '') as { env: Record<string, string> };
const app = await buildApp(toConfig({ env }), { log: createLogger('silent') });
const { rest } = await app.start();
const token = await app.localIssuer?.sign('admin@example.com');
process.stdout.write(`${JSON.stringify({ rest, token })}\n`);

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'measure') delay.reset();
  const ms = (ns: number): number => Math.round(ns / 1e4) / 100;
  if (line === 'tell')
    process.stdout.write(`${JSON.stringify({ max: ms(delay.max), p99: ms(delay.percentile(99)) })}\n`);
});
