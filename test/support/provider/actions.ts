/** Targets and executions of the double, as the provider in the field has them (recorded: "actions target"). */

import { type Body, type Handler, newKey, present, refuseDenied, settled } from './api.ts';
import { ApiError, newId } from './state.ts';

const createTarget: Handler = (state, { name, endpoint, restWebhook }) => {
  if (typeof name !== 'string' || typeof endpoint !== 'string' || restWebhook === undefined) {
    throw new ApiError(3, 'invalid CreateTargetRequest');
  }
  refuseDenied(state, endpoint, 'Errors.Target.DeniedURL (COMMAND-NcJUKo)');
  const target = { id: newId(), name, endpoint, signingKey: newKey() };
  state.targets.push(target);
  state.madeAt.set(target, Date.now());
  return { body: { id: target.id, creationDate: '2026-11-28T02:34:24.239691Z', signingKey: target.signingKey } };
};

const updateTarget: Handler = (state, body, [id]) => {
  const target = present(
    state.targets.find((one) => one.id === id),
    'Target not found (COMMAND-xj14f2cccn)',
  );
  if (typeof body.endpoint === 'string') target.endpoint = body.endpoint;
  const swap = body.expirationSigningKey === '0s';
  if (swap) target.signingKey = newKey();
  return { body: { changeDate: '2026-11-28T02:34:24.239691Z', ...(swap ? { signingKey: target.signingKey } : {}) } };
};

const readTarget: Handler = (state, _body, [id]) => {
  const target = present(
    state.targets.find((one) => one.id === id),
    'Target not found (QUERY-hj5oaniyrz)',
  );
  return { body: { target } };
};

const searchTargets: Handler = (state) => ({ body: { pagination: {}, targets: settled(state, state.targets) } });

function eventOf(condition: unknown): string {
  return ((condition as Body | undefined)?.event as { event?: string } | undefined)?.event ?? '';
}

const setExecution: Handler = (state, { condition, targets }) => {
  const wanted = targets as string[];
  for (const id of wanted) {
    present(
      state.targets.find((one) => one.id === id),
      'Target not found (COMMAND-17e8fq1ggk)',
    );
  }
  state.executions.set(eventOf(condition), wanted);
  return { body: { setDate: '2026-11-28T02:34:24.239691Z' } };
};

const searchExecutions: Handler = (state, body) => {
  const [filter] = body.filters as { inConditionsFilter: { conditions: unknown[] } }[];
  const events = (filter?.inConditionsFilter.conditions ?? []).map(eventOf);
  const found = events.filter((event) => state.executions.has(event));
  return { body: { executions: found.map((event) => ({ targets: state.executions.get(event) })) } };
};

export const ACTION_HANDLERS: readonly (readonly [string, RegExp, Handler])[] = [
  ['POST', /^\/v2\/actions\/targets$/, createTarget],
  ['POST', /^\/v2\/actions\/targets\/search$/, searchTargets],
  ['GET', /^\/v2\/actions\/targets\/([^/]+)$/, readTarget],
  ['POST', /^\/v2\/actions\/targets\/([^/]+)$/, updateTarget],
  ['PUT', /^\/v2\/actions\/executions$/, setExecution],
  ['POST', /^\/v2\/actions\/executions\/search$/, searchExecutions],
];
