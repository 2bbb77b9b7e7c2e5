/** grpc.health.v1.Health, without a key (docs/reference/service.md#rpc). grpc-health-check brings the messages; the behavior is here. */

import type {
  Server,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition,
  sendUnaryData,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { service } from 'grpc-health-check';
import { GrpcStatus } from '../base/errors.ts';

interface HealthRequest {
  service: string;
}
interface HealthAnswer {
  status: 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';
}
type Watcher = ServerWritableStream<HealthRequest, HealthAnswer>;

const healthService = service as unknown as ServiceDefinition;

/**
 * The health of the named services, all alike, and of '' (the whole server). grpc-health-check's own implementation keeps
 * every name ever watched, of any length, for callers without a key; this one keeps open calls only.
 */
export class Health {
  readonly #names: ReadonlySet<string>;
  readonly #watchers = new Set<Watcher>();
  readonly #idle = new Set<Watcher>();
  #status: HealthAnswer['status'] = 'NOT_SERVING';
  #ended = false;

  constructor(services: readonly string[]) {
    this.#names = new Set(['', ...services]);
  }

  addTo(server: Server): void {
    const implementation = {
      Check: (call: ServerUnaryCall<HealthRequest, HealthAnswer>, callback: sendUnaryData<HealthAnswer>) => {
        if (this.#names.has(call.request.service)) callback(null, { status: this.#status });
        // Without the name: the caller chose it, it may be of any length, and may not fit a header.
        else callback({ code: GrpcStatus.NOT_FOUND, details: 'Unknown service.' });
      },
      Watch: (call: Watcher) => this.#watch(call),
      List: (_call: unknown, callback: sendUnaryData<{ statuses: Record<string, HealthAnswer> }>) => {
        callback(null, {
          statuses: Object.fromEntries([...this.#names].map((name) => [name, { status: this.#status }])),
        });
      },
    };
    server.addService(healthService, implementation as unknown as UntypedServiceImplementation);
  }

  set(serving: boolean): void {
    const status = serving ? 'SERVING' : 'NOT_SERVING';
    if (status === this.#status) return;
    this.#status = status;
    for (const watcher of this.#watchers) watcher.write({ status });
  }

  /** Ends every watch, which could otherwise keep its connection open for ever. */
  end(): void {
    this.#ended = true;
    for (const watcher of [...this.#watchers, ...this.#idle]) watcher.end();
    this.#watchers.clear();
    this.#idle.clear();
  }

  #watch(call: Watcher): void {
    const known = this.#names.has(call.request.service);
    call.write({ status: known ? this.#status : 'SERVICE_UNKNOWN' });
    if (this.#ended) {
      call.end();
      return;
    }
    // The names never change, so the watch of an unknown one has no further news; the protocol keeps it open anyway.
    const open = known ? this.#watchers : this.#idle;
    open.add(call);
    call.once('cancelled', () => open.delete(call));
  }
}
