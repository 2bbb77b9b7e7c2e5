/** Calls that an edge does not answer itself: the upstream gets them as they are, and its answer goes to the caller as it is. */

import { type handleUnaryCall, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { UsherError } from '../base/errors.ts';
import { PermissionService } from '../gen/usher/permission/v1/permission_pb.ts';
import { type Admission, type Authorize, apiKey, CallbackReply, carrierOf, requestIdOf } from '../grpc/bridge.ts';
import { METHODS } from '../grpc/metrics.ts';
import type { PassedMethods } from '../grpc/server.ts';
import { PassedOn } from '../grpc/status.ts';
import type { MessageStream, OpenStream } from '../grpc/streaming.ts';
import { CANCELLED, failure, type WaitingCalls } from '../grpc/waiting.ts';
import { isTrouble, type UpstreamLink } from './link.ts';
import { toTrouble } from './remote-facts.ts';

/** Questions that the cached facts do not answer. */
const PASSED: ReadonlySet<string> = new Set(
  [PermissionService.method.explain, PermissionService.method.listSubjects, PermissionService.method.listResources].map(
    ({ name }) => name,
  ),
);
/** What of a status is for the caller. */
const TRAILERS = ['grpc-status-details-bin', 'x-request-id'];

export function passingOn(link: UpstreamLink, clock: Clock): PassedMethods {
  return {
    unary: (name, authorize, calls) => (PASSED.has(name) ? passUnary(link, clock, name, authorize, calls) : null),
  };
}

function passUnary(
  link: UpstreamLink,
  clock: Clock,
  name: string,
  authorize: Authorize,
  calls: WaitingCalls,
): handleUnaryCall<Buffer, Buffer> {
  const { log, deadlineMs, metrics, traces } = calls.options;
  const index = METHODS.indexOf(name);
  return (call, callback) => {
    try {
      authorize(apiKey(call.metadata))?.(call.request);
    } catch (error) {
      const refused = failure(error, index, requestIdOf(call.metadata), log);
      metrics.answered(index, refused.code);
      callback(refused);
      return;
    }
    const gone = new AbortController();
    const left = Math.min(deadlineMs, Number(call.getDeadline()) - clock.now());
    const along = { deadlineMs: left, requestId: requestIdOf(call.metadata), signal: gone.signal };
    const ask = (request: Buffer): Promise<Buffer> =>
      link.unary(pathOf(name), request, along).catch((error: unknown) => {
        throw passed(error);
      });
    const work = traces === null ? ask(call.request) : traces.run(index, carrierOf(call.metadata), ask, call.request);
    const waiting = calls.wait(index, new CallbackReply(call, callback), Promise.resolve(work));
    call.once('cancelled', () => {
      gone.abort();
      waiting.leave(Number(call.getDeadline()) <= clock.now() ? status.DEADLINE_EXCEEDED : CANCELLED);
    });
  };
}

/** Watch. A stream ends with the key of its reader here, as it would there. */
export function passWatch(link: UpstreamLink): OpenStream {
  return (request, admission) => {
    const ended = new AbortController();
    const stream = link.stream(pathOf(PermissionService.method.watch.name), request);
    const end = () => {
      ended.abort();
      stream.cancel();
    };
    return {
      ended: ended.signal,
      end,
      async *[Symbol.asyncIterator]() {
        try {
          for await (const message of stream) {
            checkAdmission(admission);
            yield message as Buffer;
          }
        } catch (error) {
          if (!ended.signal.aborted) throw error instanceof UsherError ? error : passed(error);
        } finally {
          end();
        }
      },
    } satisfies MessageStream;
  };
}

function checkAdmission(admission: Admission | undefined): void {
  if (admission?.() === false) throw new UsherError('UNAUTHENTICATED', 'The key of this stream is no longer accepted.');
}

function pathOf(name: string): string {
  return `/${PermissionService.typeName}/${name}`;
}

/** The upstream's own refusal of a question; that it is away, or refuses this process, is trouble for the caller. */
function passed(error: unknown): Error {
  const { code = status.UNKNOWN, details = '', metadata } = error as Partial<ServiceError>;
  const isOurs = isTrouble(error) || code === status.UNAUTHENTICATED || code === status.PERMISSION_DENIED;
  return isOurs ? toTrouble(error) : new PassedOn({ code, details, metadata: kept(metadata) });
}

function kept(metadata: Metadata | undefined): Metadata {
  const trailers = metadata?.clone() ?? new Metadata();
  for (const name of Object.keys(trailers.getMap())) if (!TRAILERS.includes(name)) trailers.remove(name);
  return trailers;
}
