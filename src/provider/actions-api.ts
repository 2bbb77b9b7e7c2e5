/** The provider's API of targets and executions, one method a call: what it sends where, when something happens there. */

import { z } from 'zod';
import { UsherError } from '../base/errors.ts';
import { parsed } from './admin-api.ts';
import { type IdpClient, IdpRefusal } from './client.ts';

const text = z.string().default('');
const Target = z.object({ id: z.string().min(1), name: text, endpoint: text, signingKey: text });
const OneTarget = z.object({ target: Target });
const NewTarget = z.object({ id: z.string().min(1), signingKey: text });
const ChangedTarget = z.object({ signingKey: text });
const Targets = z.object({ targets: z.array(Target).default([]), result: z.array(Target).default([]) });
const Execution = z.object({ targets: z.array(z.string()).default([]) });
const Executions = z.object({ executions: z.array(Execution).default([]), result: z.array(Execution).default([]) });

export interface EventTarget {
  readonly id: string;
  readonly endpoint: string;
  /** Null where the provider withholds it. */
  readonly signingKey: string | null;
}

const NAME = 'Usher';
const TARGETS = '/v2/actions/targets';
const EXECUTIONS = '/v2/actions/executions';
const TIMEOUT = '10s';
/** The provider's keys are 36 letters and digits; a masked one does not match. */
const SIGNING_KEY = /^[A-Za-z0-9]{16,}$/;

export class ActionsApi {
  readonly #client: IdpClient;

  constructor(client: IdpClient) {
    this.#client = client;
  }

  /** The one with that id, or null. */
  async target(id: string): Promise<EventTarget | null> {
    try {
      const answer = await this.#client.call({ method: 'GET', path: `${TARGETS}/${encodeURIComponent(id)}` });
      return shown(parsed(OneTarget, answer).target);
    } catch (error) {
      if (error instanceof IdpRefusal && error.idpStatus === 404) return null;
      throw error;
    }
  }

  /** The one that sends to this endpoint, or null. */
  async findTarget(endpoint: string): Promise<EventTarget | null> {
    const filters = [{ targetNameFilter: { targetName: NAME, method: 'TEXT_FILTER_METHOD_EQUALS' } }];
    const request = { method: 'POST', path: `${TARGETS}/search`, body: { filters }, repeatable: true } as const;
    const { targets, result } = parsed(Targets, await this.#client.call(request));
    const found = [...targets, ...result].find((one) => one.endpoint === endpoint);
    return found === undefined ? null : shown(found);
  }

  /** A failure here interrupts nothing there. */
  async createTarget(endpoint: string): Promise<EventTarget> {
    const body = { name: NAME, restWebhook: { interruptOnError: false }, endpoint, timeout: TIMEOUT };
    const made = parsed(NewTarget, await this.#client.call({ method: 'POST', path: TARGETS, body }));
    return { id: made.id, endpoint, signingKey: made.signingKey || null };
  }

  async setEndpoint(id: string, endpoint: string): Promise<void> {
    await this.#client.call({ method: 'POST', path: `${TARGETS}/${encodeURIComponent(id)}`, body: { endpoint } });
  }

  /** A new signing key, valid at once; the one before is worth nothing from then on. */
  async swapKey(id: string): Promise<string> {
    const path = `${TARGETS}/${encodeURIComponent(id)}`;
    const body = { expirationSigningKey: '0s' };
    const { signingKey } = parsed(ChangedTarget, await this.#client.call({ method: 'POST', path, body }));
    if (signingKey !== '') return signingKey;
    throw new UsherError('IDP_REJECTED', 'The identity provider returned no signing key for the target.');
  }

  /** Adds the target to those of an event: the write is of all of them. */
  async subscribe(event: string, target: string): Promise<void> {
    const others = (await this.#executions([event])).flat();
    if (others.includes(target)) return;
    try {
      await this.#setTargets(event, [...others, target]);
    } catch (error) {
      if (!(error instanceof IdpRefusal) || error.idpStatus !== 404) throw error;
      // One of the others was deleted, and the search has not noticed.
      const there = await Promise.all(others.map(async (id) => ((await this.target(id)) === null ? [] : [id])));
      await this.#setTargets(event, [...there.flat(), target]);
    }
  }

  async #setTargets(event: string, targets: readonly string[]): Promise<void> {
    const body = { condition: conditionOf(event), targets: [...new Set(targets)] };
    await this.#client.call({ method: 'PUT', path: EXECUTIONS, body, repeatable: true });
  }

  /** Of how many of these events the target is one of the targets. */
  async subscribed(events: readonly string[], target: string): Promise<number> {
    return (await this.#executions(events)).filter((targets) => targets.includes(target)).length;
  }

  /** The targets of those of these events that have any. */
  async #executions(events: readonly string[]): Promise<string[][]> {
    const filters = [{ inConditionsFilter: { conditions: events.map(conditionOf) } }];
    const search = { method: 'POST', path: `${EXECUTIONS}/search`, body: { filters }, repeatable: true } as const;
    const { executions, result } = parsed(Executions, await this.#client.call(search));
    return [...executions, ...result].map(({ targets }) => targets);
  }
}

function conditionOf(event: string) {
  return { event: { event } };
}

function shown({ id, endpoint, signingKey }: z.output<typeof Target>): EventTarget {
  return { id, endpoint, signingKey: SIGNING_KEY.test(signingKey) ? signingKey : null };
}
