/**
 * Makes the pictures of README.md and docs/guides/panel.md from a service with the demonstration:
 *
 *   npm run panel && bin/node test/browser/screenshots.ts
 *
 * The folder may be given: `bin/node test/browser/screenshots.ts /tmp/pictures`.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyDemo } from '../../src/app/demo.ts';
import { startUsher } from '../support/usher.ts';
import { launchChromium } from './chromium.ts';
import { openPanel, settled } from './panel.ts';

const QUESTION = 'app=atelier&email=clara%40example.com&permission=project.access&resourceType=project&resourceId=1042';

interface Picture {
  readonly name: string;
  readonly path: string;
  readonly dark?: boolean;
  readonly width?: number;
}

const PICTURES: readonly Picture[] = [
  { name: 'home', path: '/' },
  { name: 'ask', path: `/ask?${QUESTION}` },
  { name: 'ask-dark', path: `/ask?${QUESTION}`, dark: true },
  { name: 'matrix', path: '/applications/atelier/matrix' },
  { name: 'person', path: '/people/clara%40example.com' },
  { name: 'manifest', path: '/applications/atelier/manifest' },
  { name: 'playground', path: '/playground' },
  { name: 'narrow', path: '/applications/atelier/matrix', width: 390 },
];

const folder = process.argv[2] ?? 'docs/pictures';
await mkdir(folder, { recursive: true });
const dataDir = await mkdtemp(join(tmpdir(), 'usher-pictures.'));
const [usher, browser] = await Promise.all([startUsher({ url: null, dataDir }), launchChromium()]);
try {
  await applyDemo(usher.app);
  for (const { name, path, dark = false, width = 1280 } of PICTURES) {
    const panel = await openPanel(browser, usher, { as: 'admin@example.com', dark, width });
    await panel.go(path);
    await panel.page.waitForTimeout(500);
    await settled(panel.page);
    await panel.page.screenshot({ path: join(folder, `${name}.png`) });
    await panel.close();
  }
} finally {
  await browser.close();
  await usher.close();
  await rm(dataDir, { recursive: true });
}
