import { AxeBuilder } from '@axe-core/playwright';
import type { Browser, Page } from 'playwright-core';

/** A page of the panel, and everything that went wrong in it. */
export interface PanelPage {
  readonly page: Page;
  /** Console errors, exceptions, violations of the policy, requests to other origins. A test expects none. */
  readonly complaints: string[];
  /** Goes to a path of the panel, such as `/applications`, and waits until its first list or record is there. */
  readonly go: (path: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

export interface PanelOptions {
  /** Whom to be; the panel is opened signed out without. */
  readonly as?: string;
  readonly width?: number;
  readonly locale?: 'en-US' | 'cs-CZ';
  readonly dark?: boolean;
  /** Origins beside the panel's own to which it may go: that of an identity provider. */
  readonly besides?: readonly string[];
  /** Console errors that a test provokes, such as the browser's own line for a refused request. */
  readonly expected?: RegExp;
}

const VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) => {
  console.error('violates ' + event.violatedDirective + ': ' + event.blockedURI + ' ' + event.sample);
})`;

/** A service whose panel is opened. */
export interface PanelService {
  readonly rest: string;
  readonly app: { readonly developmentSignIn: { readonly code: string } | null };
}

/** Opens the panel in a context of its own, as somebody of the local issuer. */
export async function openPanel(
  browser: Browser,
  usher: PanelService,
  { as, width = 1280, locale = 'en-US', dark = false, besides = [], expected }: PanelOptions = {},
): Promise<PanelPage> {
  const viewport = { width, height: 900 };
  const context = await browser.newContext({ viewport, locale, colorScheme: dark ? 'dark' : 'light' });
  await context.addInitScript(VIOLATIONS);
  const page = await context.newPage();
  page.setDefaultTimeout(8_000);
  const complaints: string[] = [];
  const complain = (text: string): void => {
    if (expected?.test(text) !== true) complaints.push(text);
  };
  page.on('pageerror', (error) => complain(String(error.stack ?? error)));
  page.on('console', (message) => message.type() === 'error' && complain(message.text()));
  const origin = panelOrigin(usher);
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (![origin, ...besides].includes(url.origin) && !['data:', 'blob:'].includes(url.protocol))
      complain(`a request to ${url.href}`);
  });
  if (as !== undefined) {
    const code = JSON.stringify(usher.app.developmentSignIn?.code ?? '');
    const email = JSON.stringify(as);
    await context.addInitScript(
      // A sandboxed frame, such as the preview of a mail, has no storage.
      `if (self === top) { sessionStorage.setItem('usher.code', ${code}); sessionStorage.setItem('usher.email', ${email}) }`,
    );
  }
  return {
    page,
    complaints,
    go: async (path) => {
      await page.goto(`${origin}/panel${path}`);
      await settled(page);
    },
    close: () => context.close(),
  };
}

/**
 * Four looks in a row, 16 ms apart, that find nothing being read: a view that has drawn itself asks for its data within one.
 * They are made in the page, so a machine that is busy makes the view and the looks wait alike.
 */
const QUIET = `new Promise((resolve) => {
  let looks = 0;
  const look = () => {
    const busy = document.querySelector('[data-loading], [aria-busy=true]') !== null;
    looks = busy ? 0 : looks + 1;
    if (looks === 4) resolve();
    else setTimeout(look, 16);
  };
  look();
})`;

/** Waits until the page shows a title and nothing is being read any more. A stream stays open, so the network is never idle. */
export async function settled(page: Page): Promise<void> {
  for (let isQuiet = false; !isQuiet; ) {
    await page.locator('h1').first().waitFor();
    isQuiet = await page.evaluate(QUIET).then(
      () => true,
      (error: Error) => {
        // The page went to another address meanwhile.
        if (error.message.includes('context was destroyed')) return false;
        throw error;
      },
    );
  }
}

/** The panel answers at the host of publicUrl. */
function panelOrigin(usher: PanelService): string {
  return usher.rest.replace('127.0.0.1', 'localhost');
}

/** What axe finds on the page: rule, help and the first places. */
export async function axeFaults(page: Page): Promise<string[]> {
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const { violations } = await new AxeBuilder({ page }).withTags(tags).analyze();
  return violations.map(({ id, help, nodes }) => {
    const places = nodes
      .slice(0, 3)
      .map(({ html, failureSummary }) => `  ${html.slice(0, 200)} ${failureSummary ?? ''}`);
    return [`${id}: ${help}`, ...places].join('\n');
  });
}

/** By how many pixels the page is wider than its window: 0 where it reflows. */
export async function overflow(page: Page): Promise<number> {
  return Math.max(0, (await page.evaluate('document.documentElement.scrollWidth - innerWidth')) as number);
}

/**
 * Waits until `expression`, JavaScript of the page, is true. It is given as a function: the policy of the pages forbids the
 * evaluation of a string each time that it is looked at, so that a bare expression fails unless it is true at once.
 */
export async function untilTrue(page: Page, expression: string): Promise<void> {
  await page.waitForFunction(`() => ${expression}`);
}
