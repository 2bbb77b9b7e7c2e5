/** Where the panel, the page at `/` and the way to the mailbox stand beside the routes. */

import type { Application, Request, RequestHandler } from 'express';
import { lazy } from '../../base/lazy.ts';
import { answerOptions } from '../middleware/cors.ts';
import { refuseMethod } from '../middleware/errors.ts';
import { HTML_TYPE, JSON_TYPE, negotiate } from '../route/envelopes.ts';
import type { PanelOptions } from './door.ts';

const ALLOW = 'GET, HEAD, OPTIONS';

/** Mounts `/panel`, everything below it, and `/`; other requests are passed on. Rate limits count none of these. */
export function mountPanel(app: Application, options: PanelOptions): void {
  // Loaded with the first request: most requests are not a browser's.
  const load = lazy(async () => (await import('./door.ts')).createPanel(options));
  const panel: RequestHandler = async (req, res, next) => {
    const answer = await load();
    await answer(req, res, next);
  };
  app.use((req, res, next) => (isBelowPanel(req.path) ? panel(req, res, next) : next()));

  const { config, services, site } = options;
  const links = { panel: config.panel.enabled, mailbox: services.mailbox !== null };
  const home = app.route('/');
  home.get(async (req, res) => {
    res.vary('accept');
    const { homePage, homePaths } = await import('../pages/home.ts');
    if (!isPerson(req)) return void res.json({ success: true, data: homePaths(links) });
    const { page, policy } = homePage(links);
    res.set({ 'content-type': HTML_TYPE, 'content-security-policy': policy }).send(page);
  });
  home.options(answerOptions(site, ALLOW, false)).all(refuseMethod(site, ALLOW, false));
}

/**
 * Leads browsers from `/dev/mail` to the panel's mailbox, where there is one. Mounted before the routes, which answer programs at
 * the same paths.
 */
export function leadToMailbox(app: Application, { config, services }: Pick<PanelOptions, 'config' | 'services'>): void {
  if (!config.panel.enabled || services.mailbox === null) return;
  app.get(`${MAILBOX}{/:id}`, (req, res, next) => {
    res.vary('accept');
    if (!isPerson(req)) return next();
    const location = `/panel/mailbox${req.originalUrl.slice(MAILBOX.length)}`;
    res.status(302).set({ location, 'cache-control': 'no-store' }).end();
  });
}

const MAILBOX = '/dev/mail';

/** Whether a person opened the address in a browser. */
function isPerson(req: Request): boolean {
  return negotiate(req.get('accept'), [JSON_TYPE, HTML_TYPE]) === HTML_TYPE;
}

function isBelowPanel(path: string): boolean {
  return path === '/panel' || path.startsWith('/panel/');
}
