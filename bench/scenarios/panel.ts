/**
 * The panel as built, in a Chromium that is installed, on a service with an embedded database. Nothing is pinned: browser and
 * service share the cores, as they do on a desk; a browser with its dozen processes on one core measures how they wait for each
 * other. The service is a process of its own, since this one drives the browser.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../../test/browser/chromium.ts';
import { openPanel, type PanelService, settled } from '../../test/browser/panel.ts';
import { watchLoad } from '../../test/browser/panel-weight.ts';
import { makeDemo, makeWide } from '../../test/browser/panel-world.ts';
import { type RunningUsher, startUsher } from '../../test/support/usher.ts';
import type { Lab } from '../lab.ts';
import { unpinned } from '../processes.ts';
import { percentile, type Row, row } from '../report.ts';
import { Service } from '../service.ts';

const ADMIN = 'admin@example.com';
const QUESTION = 'app=atelier&permission=project.access&email=';

/**
 * Collects paints, shifts, and for every key the time until the frame after it was made, beside what the browser itself says of it
 * (Event Timing: from the press until its frame is shown, to 8 ms; below 16 ms it says nothing). Holding Control is no key.
 */
const WATCH = `
  window.seen = { shift: 0, paint: 0, keys: [], said: [] };
  new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) seen.shift += one.value; })
    .observe({ type: 'layout-shift', buffered: true });
  new PerformanceObserver((list) => { for (const one of list.getEntries()) if (one.name === 'first-contentful-paint') seen.paint = one.startTime; })
    .observe({ type: 'paint', buffered: true });
  new PerformanceObserver((list) => { for (const one of list.getEntries()) if (one.name === 'keydown') seen.said.push([one.startTime, one.duration]); })
    .observe({ type: 'event', durationThreshold: 16, buffered: true });
  addEventListener('keydown', (event) => {
    if (event.key === 'Control') return;
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => seen.keys.push([event.timeStamp, performance.now() - event.timeStamp]);
      port2.postMessage(0);
    });
  }, true);`;

interface Load {
  paint: number;
  usable: number;
  shift: number;
  gzip: number;
  requests: number;
}

export async function panel(lab: Lab): Promise<Row[]> {
  return await unpinned(() => measure(lab));
}

async function measure(lab: Lab): Promise<Row[]> {
  const dataDir = mkdtempSync(join(tmpdir(), 'usher-bench-panel-'));
  await fill(dataDir);
  const [service, browser] = await Promise.all([Service.start({ dataDir, core: null }), launchChromium()]);
  try {
    const usher = { rest: service.url, app: { developmentSignIn: { code: await service.signInCode } } };
    const runs = lab.settings.runs * 3;
    const loads: Load[] = [];
    for (let run = 0; run <= runs; run++) {
      const load = await loadOf(browser, usher, '/applications', '[role=row] a');
      // The first also reads the files into the service.
      if (run > 0) loads.push(load);
    }
    const people: Load[] = [];
    for (let run = 0; run < runs; run++) {
      people.push(await loadOf(browser, usher, '/people/many%40example.com', 'main code'));
    }
    lab.say(`panel: ${runs} loads`);
    const matrix = await matrixKeys(browser, usher);
    lab.say(`panel: ${matrix.keys.length} keys in the matrix`);
    const answers = await keysToAnswers(browser, usher);
    lab.say(`panel: ${answers.length} answers while typing`);
    return [
      row(
        'panel',
        'shell and first list of 10,000 applications, gzip',
        'kB',
        loads.map(({ gzip }) => gzip),
        { atMost: 120 },
      ),
      row(
        'panel',
        'requests of the API until then',
        '',
        loads.map(({ requests }) => requests),
        { atMost: 6 },
      ),
      row(
        'panel',
        'first paint',
        'ms',
        loads.map(({ paint }) => paint),
        { atMost: 300 },
      ),
      row(
        'panel',
        'usable: rows of 10,000 applications',
        'ms',
        loads.map(({ usable }) => usable),
        { atMost: 500 },
      ),
      row(
        'panel',
        'layout shift',
        '',
        loads.map(({ shift }) => shift),
        { atMost: 0.02 },
      ),
      row(
        'panel',
        'usable: a person with 10,000 overrides',
        'ms',
        people.map(({ usable }) => usable),
        { atMost: 500 },
      ),
      row('panel', 'matrix of 50,000 cells, a key, p50', 'ms', [percentile(matrix.keys, 0.5)], { atMost: 50 }),
      row('panel', 'matrix of 50,000 cells, a key, p95', 'ms', [percentile(matrix.keys, 0.95)]),
      row('panel', 'the same by Event Timing, p50', 'ms', [percentile(matrix.said, 0.5)], { atMost: 50 }),
      row('panel', 'matrix of 50,000 cells, heap', 'MB', [matrix.heap], { atMost: 20 }),
      row('panel', 'bench, keystroke to answer, p50', 'ms', [percentile(answers, 0.5)], { atMost: 100 }),
      row('panel', 'bench, keystroke to answer, p95', 'ms', [percentile(answers, 0.95)]),
    ];
  } finally {
    await browser.close();
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The demonstration, 10,000 applications, 500 roles by 100 permissions, and a person with 10,000 overrides. */
async function fill(dataDir: string): Promise<void> {
  const usher = await startUsher({ url: null, dataDir });
  try {
    await fillWith(usher);
  } finally {
    await usher.close();
  }
}

async function fillWith(usher: RunningUsher): Promise<void> {
  await makeDemo(usher);
  await makeWide(usher, 'wide', 500, 100);
  await usher.app.database.change(async (tx) => {
    const statements = [
      sql`insert into application (code, name) select 'app-' || n, 'Application ' || n from generate_series(1, 10000) n`,
      sql`insert into person (email) values ('many@example.com')`,
      sql`insert into resource_override (application_id, person_id, resource_type, resource_id, permission_id, tiered, level)
        select a.id, p.id, 'project', n::text, m.id, m.tiered, 3
        from application a, person p, permission m, generate_series(1, 10000) n
        where a.code = 'atelier' and p.email = 'many@example.com' and m.application_id = a.id and m.code = 'project.access'`,
    ];
    for (const statement of statements) await statement.execute(tx.kysely);
    return { result: null, scopes: ['*'] };
  });
}

/**
 * A fresh browser context goes straight to a view, after another page: what the browser itself takes to begin is not the panel's.
 * The page says itself when `first` is there; looking for it from here would keep it busy.
 */
async function loadOf(browser: Browser, usher: PanelService, path: string, first: string): Promise<Load> {
  const opened = await openPanel(browser, usher, { as: ADMIN });
  const { page } = opened;
  const origin = usher.rest.replace('127.0.0.1', 'localhost');
  await page.goto(`${origin}/`);
  await page.addInitScript(WATCH);
  await page.addInitScript(watchFor(first));
  const load = watchLoad(page);
  const isThere = page.waitForEvent('console', (message) => message.text() === FIRST);
  await page.goto(`${origin}/panel${path}`, { waitUntil: 'commit' });
  await isThere;
  const [gzip, requests] = [load.gzip(), load.requests().length];
  await settled(page);
  const seen = (await page.evaluate('seen')) as { paint: number; shift: number; usable: number };
  await opened.close();
  return { ...seen, requests, gzip };
}

const FIRST = 'the first rows are there';

/** Notes when the first element of a selector is on the screen: after the frame in which it was added. */
function watchFor(selector: string): string {
  return `
    const added = new MutationObserver(() => {
      if (document.querySelector(${JSON.stringify(selector)}) === null) return;
      added.disconnect();
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => { seen.usable = performance.now(); console.debug('${FIRST}'); };
        port2.postMessage(0);
      });
    });
    added.observe(document, { subtree: true, childList: true });`;
}

interface MatrixKeys {
  readonly keys: number[];
  /** By Event Timing; 16 where it says nothing. */
  readonly said: number[];
  readonly heap: number;
}

async function matrixKeys(browser: Browser, usher: PanelService): Promise<MatrixKeys> {
  const opened = await openPanel(browser, usher, { as: ADMIN });
  const { page } = opened;
  await page.addInitScript(WATCH);
  await opened.go('/applications/wide/matrix');
  await page.locator('[role=gridcell][tabindex="0"]').focus();
  const pressed = [
    'ArrowDown',
    'ArrowRight',
    'PageDown',
    'End',
    'Space',
    'ArrowUp',
    'e',
    'Home',
    'PageUp',
    'Control+End',
    'v',
    'Control+Home',
  ];
  for (let round = 0; round < 8; round++) for (const key of pressed) await page.keyboard.press(key);
  // The browser tells in batches.
  await page.waitForTimeout(500);
  const seen = (await page.evaluate('seen')) as Record<'keys' | 'said', (readonly [at: number, took: number])[]>;
  const said = new Map(seen.said);
  const heap = await heapOf(page);
  await opened.close();
  return { keys: seen.keys.map(([, took]) => took), said: seen.keys.map(([at]) => said.get(at) ?? 16), heap };
}

/** Megabytes of JavaScript after a collection. */
async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}

/** Notes when the answer to what is typed by a key is on the page: the answer names its question. */
const WATCH_ANSWERS = `
  window.answered = [];
  let pressed = null;
  addEventListener('keydown', (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (pressed === null || !document.querySelector('[data-asked]')?.dataset.asked) return;
    answered.push(performance.now() - pressed);
    pressed = null;
  }).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-asked'] });`;

/** From each key of an address until the answer about what is typed by then. */
async function keysToAnswers(browser: Browser, usher: PanelService): Promise<number[]> {
  const opened = await openPanel(browser, usher, { as: ADMIN });
  const { page } = opened;
  await opened.go(`/ask?${QUESTION}clara%40example.com`);
  const person = page.getByRole('combobox', { name: 'Person' });
  await person.fill('');
  await page.evaluate(WATCH_ANSWERS);
  for (const key of 'many@example.com') {
    await person.press(key);
    await page.waitForTimeout(250);
  }
  const times = (await page.evaluate('answered')) as number[];
  await opened.close();
  return times;
}
