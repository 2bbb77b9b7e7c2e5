/** How far sign-in is set up: each step with its state and, where something is missing, the exact keys that are next. */

import type { Out } from '../../../../src/gen/api.ts';

type ConfigValues = Out<'GET /api/admin/config'>;
export type Health = Out<'GET /api/idp/health'>;
export type NotificationProvider = Out<'GET /api/idp/admin/notification-provider'>;
export type ProviderEvents = Out<'GET /api/idp/admin/events'>;

export const STEPS = ['tokens', 'panel', 'api', 'links', 'webhook', 'mails', 'brands'] as const;
type StepName = (typeof STEPS)[number];

/** `wrong`: it is configured and does not work. */
type StepState = 'done' | 'open' | 'wrong';

export interface Step {
  readonly name: StepName;
  readonly state: StepState;
  /** Keys that are missing, with their variables. */
  readonly missing: readonly { readonly key: string; readonly variable: string }[];
  /** When the provider was last heard of; null: never, or not asked. */
  readonly lastAt: string | null;
}

export interface Facts {
  readonly config: ConfigValues;
  readonly health: Health;
  readonly notificationProvider: NotificationProvider;
  readonly events: ProviderEvents;
}

type Source = ProviderEvents['events'][number]['source'];

const KEYS: Readonly<Record<StepName, readonly string[]>> = {
  tokens: ['auth.issuer', 'auth.audience'],
  panel: ['panel.clientId'],
  api: ['idp.apiUrl', 'idp.serviceAccountToken'],
  links: ['publicUrl', 'idp.publicUrl'],
  webhook: ['idp.webhookSecret'],
  mails: [],
  brands: [],
};

export function stepsOf(facts: Facts): readonly Step[] {
  const { config, health, notificationProvider, events } = facts;
  const last = (...sources: readonly Source[]) =>
    events.events.find(({ source }) => sources.includes(source))?.at ?? null;
  const keysOfEvents = config.find(({ key }) => key === 'idp.eventSigningKeys')?.value;
  // The provider's own events make a webhook needless: by a configured key, or by that of a set-up, which nobody shows.
  const hearsEvents = isSet(keysOfEvents) || last('event') !== null;
  const wrong: Partial<Record<StepName, boolean>> = {
    api: health.status === 'unreachable',
    brands: events.unknownOrganizations.length > 0,
  };
  const open: Partial<Record<StepName, boolean>> = {
    mails: !notificationProvider.configured || !notificationProvider.hasSigningKey,
    brands: !notificationProvider.configured,
  };
  return STEPS.map((name): Step => {
    const needed = name === 'webhook' && hearsEvents ? [] : KEYS[name];
    const missing = needed.flatMap((key) => {
      const found = config.find((value) => value.key === key);
      return found === undefined || isSet(found.value) ? [] : [{ key, variable: found.variable }];
    });
    const state = wrong[name] ? 'wrong' : missing.length > 0 || open[name] ? 'open' : 'done';
    return {
      name,
      state,
      missing,
      lastAt: name === 'webhook' ? last('webhook', 'event') : name === 'mails' ? last('mail') : null,
    };
  });
}

/** Whether a value of the configuration says something. */
export function isSet(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return typeof value !== 'object' || Object.keys(value).length > 0;
}
