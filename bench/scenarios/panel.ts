/**
 * The panel as built, in a Chromium that is installed, on a service with an embedded database in this process. Nothing is pinned:
 * browser and service share the cores, as they do on a desk.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { sql } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import { launchChromium } from '../../test/browser/chromium.ts';
import { openPanel, settled } from '../../test/browser/panel.ts';
import { makeDemo, makeWide } from '../../test/browser/panel-world.ts';
import { type RunningUsher, startUsher } from '../../test/support/usher.ts';
import type { Lab } from '../lab.ts';
import { percentile, type Row, row } from '../report.ts';

const ADMIN = 'admin@example.com';
const BUILT = new URL('../../dist', import.meta.url).pathname;
const QUESTION = 'app=atelier&permission=project.access&email=';

/** Collects paints, shifts, and for every key the time until the frame after it was made. */
const WATCH = `
  window.seen = { shift: 0, paint: 0, keys: [] };
  new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) seen.shift += one.value; })
    .observe({ type: 'layout-shift', buffered: true });
  new PerformanceObserver((list) => { for (const one of list.getEntries()) if (one.name === 'first-contentful-paint') seen.paint = one.startTime; })
    .observe({ type: 'paint', buffered: true });
  addEventListener('keydown', (event) => {
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => seen.keys.push(performance.now() - event.timeStamp);
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
  const dataDir = mkdtempSync(join(tmpdir(), 'usher-bench-panel-'));
  const [usher, browser] = await Promise.all([startUsher({ url: null, dataDir }), launchChromium()]);
  try {
    await fill(usher);
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
        loads.map(({ gzip }) => gzip / 1000),
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
        { atMost: 700 },
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
        { atMost: 700 },
      ),
      row('panel', 'matrix of 50,000 cells, a key, p50', 'ms', [percentile(matrix.keys, 0.5)], { atMost: 50 }),
      row('panel', 'matrix of 50,000 cells, a key, p95', 'ms', [percentile(matrix.keys, 0.95)]),
      row('panel', 'matrix of 50,000 cells, heap', 'MB', [matrix.heap], { atMost: 20 }),
      row('panel', 'bench, keystroke to answer, p50', 'ms', [percentile(answers, 0.5)], { atMost: 100 }),
      row('panel', 'bench, keystroke to answer, p95', 'ms', [percentile(answers, 0.95)]),
    ];
  } finally {
    await browser.close();
    await usher.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** The demonstration, 10,000 applications, 500 roles by 100 permissions, and a person with 10,000 overrides. */
async function fill(usher: RunningUsher): Promise<void> {
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

/** A fresh browser context goes straight to a view. */
async function loadOf(browser: Browser, usher: RunningUsher, path: string, first: string): Promise<Load> {
  const opened = await openPanel(browser, usher, { as: ADMIN });
  const { page } = opened;
  await page.addInitScript(WATCH);
  const files: string[] = [];
  let requests = 0;
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/panel/')) files.push(pathname);
    else if (pathname !== '/api/admin/stream') requests += 1;
  });
  await page.goto(`${usher.rest.replace('127.0.0.1', 'localhost')}/panel${path}`);
  await page.locator(first).first().waitFor();
  const usable = (await page.evaluate('performance.now()')) as number;
  const loaded = [...files];
  const counted = requests;
  await settled(page);
  const seen = (await page.evaluate('seen')) as { paint: number; shift: number };
  await opened.close();
  return { ...seen, usable, requests: counted, gzip: gzipOf(loaded) };
}

/** What the files of the build would weigh by gzip. Every other path is a view, whose file is the page itself. */
function gzipOf(paths: readonly string[]): number {
  const files = paths
    .filter((path) => path !== '/panel/config.json')
    .map((path) => join(BUILT, existsSync(join(BUILT, path)) ? path : '/panel/index.html'));
  return files.reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0);
}

async function matrixKeys(browser: Browser, usher: RunningUsher): Promise<{ keys: number[]; heap: number }> {
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
  const { keys } = (await page.evaluate('seen')) as { keys: number[] };
  const heap = await heapOf(page);
  await opened.close();
  return { keys, heap };
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
async function keysToAnswers(browser: Browser, usher: RunningUsher): Promise<number[]> {
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
