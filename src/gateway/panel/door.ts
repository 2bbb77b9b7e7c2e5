/**
 * The panel's files at `/panel/` (docs/reference/service.md#panel). Not routes: they have no guard, no body and no envelope, and
 * one pattern stands for all of them. Why no package serves them is in docs/adr/0018-the-panel.md.
 */

import { extname } from 'node:path';
import type { Request, RequestHandler, Response } from 'express';
import { UsherError } from '../../base/errors.ts';
import { isLoopbackHost } from '../../base/ip-address.ts';
import { codingFor } from '../middleware/compress.ts';
import { answerOptions, type Site } from '../middleware/cors.ts';
import { refuseMethod } from '../middleware/errors.ts';
import { notBuilt } from '../pages/not-built.ts';
import { HTML_TYPE, JSON_TYPE, negotiate } from '../route/envelopes.ts';
import { isKnownTag } from '../route/etag.ts';
import type { Services } from '../services.ts';
import type { PanelFile, PanelFiles } from './files.ts';
import { PANEL_HEADERS, panelPolicy, previewPolicy } from './headers.ts';
import { type PanelConfig, panelSettings } from './settings.ts';

export interface PanelOptions {
  readonly config: PanelConfig;
  readonly services: Services;
  readonly site: Site;
  readonly version: string;
  /** Milliseconds that never go back. */
  readonly now: () => number;
}

const ROOT = '/panel/';
const ALLOW = 'GET, HEAD, OPTIONS';
const ENTRY = 'index.html';
const PREVIEW = 'preview.html';
/** Their names change with their content. */
const HASHED = 'assets/';
/** The files of the documentation page, which exists without the panel. */
const DOCS = 'docs/';

/** Answers every path below `/panel`. */
export function createPanel(options: PanelOptions): RequestHandler {
  const { config, services, site } = options;
  const { enabled } = config.panel;
  const settings = panelSettings(options);
  const policy = panelPolicy({ issuer: config.auth.issuer, production: config.production });
  const answerPreflight = answerOptions(site, ALLOW, false);
  const refuse = refuseMethod(site, ALLOW, false);

  const answer = async (req: Request, res: Response): Promise<void> => {
    const path = req.path.slice(ROOT.length);
    const isDocs = path.startsWith(DOCS);
    if (!enabled && !isDocs) throw missing();
    // The documentation page loads these before it moves to the other host by itself.
    const elsewhere = isDocs ? null : atPublicHost(req, site);
    if (elsewhere !== null) return redirect(res, elsewhere);
    if (req.path === '/panel') return redirect(res, `${ROOT}${req.url.slice('/panel'.length)}`);
    if (path === 'config.json') {
      res.set('content-type', JSON_TYPE).send(JSON.stringify(await settings()));
      return;
    }
    const files = await services.panelFiles();
    if (files === null) return sayNotBuilt(req, res);
    const found = find(files, path, enabled);
    if (found === null) throw missing();
    res.set(PANEL_HEADERS).set('content-security-policy', policy);
    if (found.path === PREVIEW) {
      res.set('content-security-policy', previewPolicy(found.file.plain.bytes.toString(), config.production));
      res.set('x-frame-options', 'SAMEORIGIN');
    }
    send(req, res, found);
  };

  return (req, res, next) => {
    const { exchange } = res.locals;
    exchange.door = '/panel/*';
    exchange.quiet = true;
    if (req.method === 'OPTIONS') return answerPreflight(req, res, next);
    if (req.method !== 'GET' && req.method !== 'HEAD') return refuse(req, res, next);
    return answer(req, res);
  };
}

function missing(): UsherError {
  return new UsherError('NOT_FOUND', 'No file of the panel at this path.');
}

interface Found {
  readonly path: string;
  readonly file: PanelFile;
}

/**
 * The file at a path; index.html for a page of the panel; null for a file that does not exist. An address in a page's path
 * (`people/ada@example.com`) is not a file's extension: extensions count at the top and in folders that hold files.
 */
function find(files: PanelFiles, path: string, enabled: boolean): Found | null {
  const name = path === '' ? ENTRY : path;
  const file = files.get(name);
  if (file !== undefined) return { path: name, file };
  const entry = files.get(ENTRY);
  const [folder = '', ...rest] = name.split('/');
  const isFile = rest.length === 0 ? folder.includes('.') : holdsFiles(files, `${folder}/`);
  return isFile || !enabled || entry === undefined ? null : { path: ENTRY, file: entry };
}

function holdsFiles(files: PanelFiles, folder: string): boolean {
  return files.keys().some((path) => path.startsWith(folder));
}

function send(req: Request, res: Response, { path, file }: Found): void {
  const coding = codingFor(req);
  const packed = coding === null ? undefined : file.packed[coding];
  const { bytes, etag } = packed ?? file.plain;
  res.vary('accept-encoding');
  res.set({
    etag: `"${etag}"`,
    'cache-control': path.startsWith(HASHED) ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
  if (isKnownTag(req.get('if-none-match'), etag)) {
    res.status(304).end();
    return;
  }
  res.type(extname(path));
  if (coding !== null && packed !== undefined) res.set('content-encoding', coding);
  res.set('content-length', String(bytes.length));
  res.end(req.method === 'HEAD' ? undefined : bytes);
}

/**
 * The same URL at publicUrl's host, for a request by another loopback name; else null. To a browser `127.0.0.1` is not
 * `localhost`: redirect URIs would not fit, and surfaces with keys would refuse the page. Only where publicUrl is a loopback
 * name too: a proxy often passes its own name for this machine on. The port is the caller's, who may come through a tunnel.
 */
function atPublicHost(req: Request, site: Site): string | null {
  const home = new URL(site.origin);
  const here = URL.parse(`http://${req.get('host') ?? ''}`);
  if (home.protocol !== 'http:' || here === null || here.hostname === home.hostname) return null;
  if (!isLoopbackHost(home.hostname) || !isLoopbackHost(here.hostname)) return null;
  here.hostname = home.hostname;
  return here.origin + req.originalUrl;
}

function redirect(res: Response, location: string): void {
  res.status(308).set('location', location).end();
}

function sayNotBuilt(req: Request, res: Response): void {
  const error = notBuilt();
  if (negotiate(req.get('accept'), [JSON_TYPE, HTML_TYPE]) !== HTML_TYPE) throw error.error;
  res.status(503).set({ 'content-type': HTML_TYPE, 'content-security-policy': error.policy }).send(error.page);
}
