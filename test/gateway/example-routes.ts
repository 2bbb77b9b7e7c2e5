import { z } from 'zod';
import { UsherError } from '../../src/base/errors.ts';
import { rawText } from '../../src/gateway/route/bodies.ts';
import type { StreamEnvelope } from '../../src/gateway/route/envelopes.ts';
import {
  bare,
  codeResponse,
  noContent,
  successData,
  successDataWithProgress,
  text,
} from '../../src/gateway/route/envelopes.ts';
import { applicationLevel, key, open, signedIn, superAdmin } from '../../src/gateway/route/guards.ts';
import { answer, defineRoute, type Route } from '../../src/gateway/route/route.ts';

interface Waiter {
  signal: AbortSignal;
  release: () => void;
}

/** Who waits at the route `/t/wait`, so that a test can let go of it and see what became of its signal. */
export const waiting = {
  current: null as Waiter | null,
  /** Whether the caller waiting at `PUT /t/wait` has been aborted: requests the signal only when called. */
  givenUp: null as (() => boolean) | null,
  /** Has it fail with a defect. */
  fail: (): void => undefined,
  /** Resolves as soon as somebody waits there. */
  async arrived(): Promise<Waiter> {
    while (this.current === null) await new Promise((resolve) => setImmediate(resolve));
    return this.current;
  },
};

const numbers: StreamEnvelope = {
  kind: 'stream',
  name: 'numbers',
  media: ['application/x-ndjson'],
  encode: (piece) => `${JSON.stringify(piece)}\n`,
  describe: (payload) => payload,
};

const Thing = z.strictObject({ name: z.string(), size: z.int().optional(), tags: z.array(z.string()).optional() });

/** One route of every kind, so that the machinery is tested apart from the service's own. */
export const exampleRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/t/things/:id',
    operation: 'tried1',
    tag: 'Operations',
    summary: 'A thing',
    guard: open,
    params: z.strictObject({ id: z.coerce.number().pipe(z.int().positive()) }),
    query: z.strictObject({ limit: z.coerce.number().pipe(z.int().min(1).max(200)).default(50) }),
    envelope: codeResponse,
    status: 200,
    response: z.object({ id: z.int(), limit: z.int() }),
    handle: (_services, { params, query }) => {
      if (params.id === 404) throw new UsherError('NOT_FOUND', 'Unknown record.');
      return answer({ id: params.id, limit: query.limit }, { etag: 'v1' });
    },
  }),
  defineRoute({
    method: 'post',
    path: '/t/things',
    operation: 'tried2',
    tag: 'Operations',
    summary: 'Make a thing',
    guard: key('check'),
    body: Thing,
    envelope: successData,
    status: [201, 200],
    response: z.object({ name: z.string() }),
    handle: (_services, { body }) =>
      body.name === 'again'
        ? answer({ name: body.name }, { status: 200 })
        : answer({ name: body.name }, { location: '/t/things/7', revision: '41' }),
  }),
  defineRoute({
    method: 'delete',
    path: '/t/things/:id',
    operation: 'tried3',
    tag: 'Operations',
    summary: 'Remove a thing',
    guard: superAdmin,
    params: z.strictObject({ id: z.string() }),
    envelope: noContent,
    status: 204,
    refusal: 'thing.removed.refused',
    handle: () => answer(undefined, { revision: '42' }),
  }),
  defineRoute({
    method: 'put',
    path: '/t/apps/:appCode',
    operation: 'tried4',
    tag: 'Operations',
    summary: 'Change an application',
    guard: applicationLevel('edit'),
    params: z.strictObject({ appCode: z.string().regex(/^[a-z]+$/) }),
    body: z.strictObject({ name: z.string() }),
    envelope: successData,
    status: 200,
    response: z.object({ actor: z.string() }),
    errors: ['NOT_FOUND'],
    refusal: 'application.changed.refused',
    handle: (_services, { actor, params }) => {
      if (params.appCode === 'nowhere') throw new UsherError('NOT_FOUND', 'Unknown application.');
      return { actor };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/t/me',
    operation: 'tried5',
    tag: 'Operations',
    summary: 'Who am I',
    guard: signedIn,
    envelope: bare,
    status: 200,
    response: z.string(),
    handle: (_services, { caller }) => caller.email,
  }),
  defineRoute({
    method: 'post',
    path: '/t/broken',
    operation: 'tried6',
    tag: 'Operations',
    summary: 'Fails with what nobody should see',
    guard: open,
    envelope: bare,
    status: 200,
    response: z.null(),
    handle: () => {
      throw new Error('select secret from vault at /etc/passwd');
    },
  }),
  defineRoute({
    method: 'get',
    path: '/t/wait',
    operation: 'tried7',
    tag: 'Operations',
    summary: 'Waits to be released',
    guard: open,
    envelope: bare,
    status: 200,
    response: z.string(),
    deadlineMs: 400,
    handle: (_services, { signal }) =>
      new Promise<string>((resolve) => {
        waiting.current = { signal, release: () => resolve('released') };
      }),
  }),
  defineRoute({
    method: 'put',
    path: '/t/wait',
    operation: 'tried8',
    tag: 'Operations',
    summary: 'Changes something, once released',
    guard: open,
    envelope: bare,
    status: 200,
    response: z.string(),
    deadlineMs: 400,
    handle: (_services, input) => {
      waiting.givenUp = () => input.signal.aborted;
      return new Promise<string>((_, reject) => {
        waiting.fail = () => reject(new Error('a defect of ours'));
      });
    },
  }),
  defineRoute({
    method: 'get',
    path: '/t/text',
    operation: 'tried9',
    tag: 'Operations',
    summary: 'Text',
    guard: open,
    envelope: text('text/plain; charset=utf-8', { 'x-own': 'yes' }),
    status: 200,
    response: z.string(),
    cacheControl: 'public, max-age=60',
    handle: () => 'žluťoučký',
  }),
  defineRoute({
    method: 'get',
    path: '/t/stream',
    operation: 'tried10',
    tag: 'Operations',
    summary: 'A stream',
    guard: open,
    envelope: numbers,
    status: 200,
    response: z.int(),
    handle: async function* () {
      yield 1;
      yield 2;
    },
  }),
  defineRoute({
    method: 'post',
    path: '/t/long',
    operation: 'tried11',
    tag: 'Operations',
    summary: 'Reports progress',
    guard: open,
    query: z.strictObject({ fail: z.string().optional(), late: z.string().optional() }),
    body: rawText(['application/yaml', 'application/json'], 'manifest'),
    envelope: successDataWithProgress,
    status: 200,
    response: z.object({ bytes: z.int(), media: z.string() }),
    handle: async (_services, { body, progress, query }) => {
      if (query.fail !== undefined) throw new UsherError('UNKNOWN_REFERENCE', 'No such role.');
      progress(1, 2);
      await Promise.resolve();
      if (query.late !== undefined) throw new UsherError('UNKNOWN_REFERENCE', 'No such role.');
      progress(2, 2);
      return { bytes: body.text.length, media: body.media };
    },
  }),
];
