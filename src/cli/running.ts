/** The service that runs where a configuration says, and what it was started with: another environment may have other values. */

import type { Config, EffectiveValue } from '../config/config.ts';
import { CommandFailed, type GlobalOptions, type Io } from './io.ts';
import { openService, type Service, type ServiceOptions } from './service.ts';

const ANSWER_MS = 2000;

/** The values that a service was started with, secrets masked. For SuperAdmins. */
export async function valuesOf(service: Service): Promise<readonly EffectiveValue[]> {
  const { data } = await service.call('GET /api/admin/config', {}, { timeoutMs: ANSWER_MS });
  return data as readonly EffectiveValue[];
}

export interface Differing {
  readonly url: string;
  /** Keys whose values are others there. */
  readonly keys: readonly string[];
}

/**
 * How the service that answers at this configuration's own address was started, where that is otherwise; null where none answers,
 * where it tells the caller nothing, and where all is the same.
 */
export async function differsFromRunning(
  io: Io,
  options: GlobalOptions,
  { http, roles, effective }: Pick<Config, 'http' | 'roles' | 'effective'>,
): Promise<Differing | null> {
  if (!roles.includes('gateway') || http.port === 0) return null;
  const reached = http.host === '0.0.0.0' ? '127.0.0.1' : http.host === '::' ? '::1' : http.host;
  const host = reached.includes(':') ? `[${reached}]` : reached;
  const url = `${http.tls === null ? 'http' : 'https'}://${host}:${http.port}`;
  try {
    const service = await openService(io, { ...options, url } satisfies ServiceOptions);
    if (service.credentials.token === undefined) return null;
    const there = new Map((await valuesOf(service)).map(({ key, value }) => [key, JSON.stringify(value)]));
    const keys = effective
      .filter(({ key, value }) => there.has(key) && there.get(key) !== JSON.stringify(value))
      .map(({ key }) => key);
    return keys.length === 0 ? null : { url, keys };
  } catch (error) {
    // Nothing runs there, or it tells this caller nothing.
    if (error instanceof CommandFailed) return null;
    throw error;
  }
}
