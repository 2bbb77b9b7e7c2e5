/** The looks of the double's organizations: one that is stored, and the one that visitors see. */

import { type ApiAnswer, type ApiRequest, type Body, details, type Handler, scoped } from './api.ts';
import type { Uploaded } from './multipart.ts';
import { ApiError, type IdpState } from './state.ts';

function readLabel(state: IdpState, _body: Body, _parts: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  const logoUrl = org.logo === null ? '' : `${state.origin}/assets/v1/${org.id}/policy/label/logo-1`;
  // The active one alone: a stored look that was never activated shows as the default.
  const isDefault = org.shown === null;
  const { logo: _, ...shown } = org.shown ?? {};
  return { body: { policy: { details, ...(isDefault ? state.defaultLabel : shown), logoUrl, isDefault }, isDefault } };
}

function previewLabel(state: IdpState, _body: Body, _parts: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  const logoUrl = org.logo === null ? '' : `${state.origin}/assets/v1/${org.id}/policy/label/logo-1`;
  const isDefault = org.label === null;
  return { body: { policy: { details, ...(org.label ?? state.defaultLabel), logoUrl, isDefault }, isDefault } };
}

/** Fields that are not sent are reset: the write is of the whole. */
function labelOf(body: Body): Record<string, unknown> {
  const light = ['primaryColor', 'backgroundColor', 'fontColor', 'warnColor'];
  const names = [...light, ...light.map((name) => `${name}Dark`), 'themeMode', 'disableWatermark'];
  return Object.fromEntries(names.map((name) => [name, body[name] ?? (name === 'disableWatermark' ? false : '')]));
}

function createLabel(state: IdpState, body: Body, _parts: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  if (org.label !== null) throw new ApiError(6, 'Errors.Org.LabelPolicy.AlreadyExists (Org-2B0ps)');
  org.label = labelOf(body);
  return { body: { details } };
}

function updateLabel(state: IdpState, body: Body, _parts: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  if (org.label === null) throw new ApiError(5, 'Label Policy not found (Org-0K9dq)');
  const next = labelOf(body);
  if (JSON.stringify(next) === JSON.stringify(org.label))
    throw new ApiError(9, 'Label Policy has not been changed (Org-8nfSr)');
  org.label = next;
  return { body: { details } };
}

function activateLabel(state: IdpState, _body: Body, _parts: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  if (org.label === null) throw new ApiError(5, 'Label Policy not found (Org-34mSE)');
  org.shown = { ...org.label, logo: org.logo?.filename };
  return { body: { details } };
}

function uploadLogo(state: IdpState, body: Body, _parts: string[], request: ApiRequest): ApiAnswer {
  const org = scoped(state, request);
  const file = body as unknown as Uploaded;
  if (!Buffer.isBuffer(file.bytes)) throw new ApiError(3, 'request Content-Type is not multipart/form-data');
  if (!file.media.startsWith('image/')) throw new ApiError(3, 'invalid content-type (UPLOAD-2Fbs)');
  if (org.label === null) throw new ApiError(5, 'Label Policy not found (Org-23BMs)');
  org.logo = file;
  return { body: {} };
}

export const LABEL_HANDLERS: readonly (readonly [string, RegExp, Handler])[] = [
  ['GET', /^\/management\/v1\/policies\/label$/, readLabel],
  ['GET', /^\/management\/v1\/policies\/label\/_preview$/, previewLabel],
  ['POST', /^\/management\/v1\/policies\/label$/, createLabel],
  ['PUT', /^\/management\/v1\/policies\/label$/, updateLabel],
  ['POST', /^\/management\/v1\/policies\/label\/_activate$/, activateLabel],
  ['POST', /^\/assets\/v1\/org\/policy\/label\/logo$/, uploadLogo],
];
