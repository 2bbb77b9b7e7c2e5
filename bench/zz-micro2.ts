import { EventEmitter } from 'node:events';
import { systemClock as clock } from '../src/clock.ts';
import { untilAborted, within } from '../src/engine/waiting.ts';
async function min(name: string, per: number, fn: () => unknown, batches = 60) { let best = 1e9; for (let i = 0; i < batches; i++) { const t = performance.now(); const r = fn(); if (r instanceof Promise) await r; best = Math.min(best, (performance.now() - t) / per * 1e6); if (i % 10 === 9) await new Promise((r) => setTimeout(r, 20)); } console.log(name.padEnd(52), best.toFixed(0), 'ns'); }
const keep: any[] = [];
await min('new AbortController', 1000, () => { for (let i = 0; i < 1000; i++) keep[i] = new AbortController(); });
await min('new AbortController + signal', 1000, () => { for (let i = 0; i < 1000; i++) keep[i] = new AbortController().signal; });
await min('  + untilAborted', 1000, async () => { for (let i = 0; i < 1000; i++) await untilAborted(Promise.resolve(1), new AbortController().signal); });
const s = new AbortController().signal; await min('untilAborted, one signal', 1000, async () => { for (let i = 0; i < 1000; i++) await untilAborted(Promise.resolve(1), s); });
await min('clock.after + cancel', 1000, () => { for (let i = 0; i < 1000; i++) clock.after(10000, () => {})(); });
await min('within', 1000, async () => { for (let i = 0; i < 1000; i++) await within(clock, 10000, Promise.resolve(1)); });
await min('emitter once', 1000, () => { for (let i = 0; i < 1000; i++) new EventEmitter().once('cancelled', () => {}); });
