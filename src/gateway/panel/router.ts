/** Where the panel and the page at `/` stand beside the routes. */

import type { Application, RequestHandler } from 'express';
import { lazy } from '../../base/lazy.ts';
import { HTML_TYPE, JSON_TYPE, negotiate } from '../route/envelopes.ts';
import type { PanelOptions } from './door.ts';

/** Mounts `/panel`, everything below it, and `/`; other requests are passed on. Rate limits count none of these. */
export function mountPanel(app: Application, options: PanelOptions): void {
  // Loaded with the first request: most requests are not a browser's.
  const load = lazy(async () => (await import('./door.ts')).createPanel(options));
  const panel: RequestHandler = async (req, res, next) => {
    const answer = await load();
    await answer(req, res, next);
  };
  app.use((req, res, next) => (isBelowPanel(req.path) ? panel(req, res, next) : next()));

  const { config, services } = options;
  const links = { panel: config.panel.enabled, mailbox: services.mailbox !== null };
  // To programs it is an unknown path, as every path that is not theirs.
  app.get('/', async (req, res, next) => {
    res.vary('accept');
    if (negotiate(req.get('accept'), [JSON_TYPE, HTML_TYPE]) !== HTML_TYPE) return next();
    const { homePage } = await import('../pages/home.ts');
    const { page, policy } = homePage(links);
    res.set({ 'content-type': HTML_TYPE, 'content-security-policy': policy }).send(page);
  });
}

function isBelowPanel(path: string): boolean {
  return path === '/panel' || path.startsWith('/panel/');
}
