/**
 * Makes the pictures of docs/guides/small-cluster.md from the cluster's own Prometheus, while UsherDown fires after two failovers:
 *
 *   bin/node test/browser/cluster-pictures.ts "$PROMETHEUS" MINUTES 'YYYY-MM-DD HH:MM'
 *
 * The graphs show MINUTES up to that time (UTC). The expressions are those of the panels in deploy/observability/grafana/dashboards.
 */
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { readDashboards } from '../observability/files.ts';
import { launchChromium } from './chromium.ts';

const FOLDER = 'docs/pictures';
/** A graph of each on one page. */
const PANELS = ['gRPC calls by status', 'Time since the change log was last read'];

const [prometheus = '', minutes = '', until = ''] = process.argv.slice(2);
if (!/^https?:/.test(prometheus) || !(Number(minutes) > 0) || until === '') {
  throw new Error('Usage: cluster-pictures.ts URL MINUTES UNTIL');
}

function expressionOf(title: string): string {
  const panel = readDashboards()
    .flatMap(({ panels }) => panels)
    .find((candidate) => candidate.title === title);
  if (panel?.targets[0] === undefined) throw new Error(`no panel has the title ${title}`);
  const { expr } = panel.targets[0];
  return expr.replaceAll('$__rate_interval', '20s').replaceAll('$job', 'usher').replaceAll('$instance', '.*');
}

async function take(by: Browser, name: string, path: string, height: number): Promise<void> {
  const page = await by.newPage({ viewport: { width: 800, height } });
  await page.goto(`${prometheus}${path}`, { waitUntil: 'networkidle', timeout: 120_000 });
  if (path.includes('graph')) await page.locator('svg path').first().waitFor({ state: 'attached', timeout: 120_000 });
  else await page.locator('text=UsherDown').first().click();
  // The bar stays in place while a page is scrolled for its picture; the path of the rules is that of one machine.
  await page.addStyleTag({
    content: '.navbar { position: absolute !important } .query-history { visibility: hidden }',
  });
  for (const line of await page.getByText('.rules.yml').all()) await line.evaluate((element) => element.remove());
  await page.waitForTimeout(2000);
  await page.screenshot({ path: join(FOLDER, `${name}.png`), fullPage: path.includes('graph') });
  await page.close();
}

const graphs = PANELS.map((title, n) => {
  const fields = { expr: expressionOf(title), tab: '0', range_input: `${minutes}m`, end_input: until, step_input: '2' };
  return Object.entries(fields).map(([field, value]) => `g${n}.${field}=${encodeURIComponent(value)}`);
});
const browser = await launchChromium();
try {
  await take(browser, 'cluster-failovers', `/classic/graph?${graphs.flat().join('&')}`, 900);
  await take(browser, 'cluster-alerts', '/classic/alerts', 620);
} finally {
  await browser.close();
}
