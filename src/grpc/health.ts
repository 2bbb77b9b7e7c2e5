/** grpc.health.v1.Health, without a key (docs/reference/service.md#rpc). The messages are grpc-health-check's, the behaviour is here. */

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

/** grpc-health-check as its descriptor files name it; reflection lists them. */
export const healthService = service as unknown as ServiceDefinition;

/**
 * Health of the services named, all alike, and of '' (the server as a whole). grpc-health-check's own implementation keeps
 * every name ever watched, of any length, for callers without a key; here only calls that are open are kept.
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
        // Without the name: it is the caller's, of any length, and may not be fit for a header.
        else callback({ code: GrpcStatus.NOT_FOUND, details: 'This server has no service of that name.' });
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

  /** Ends every watch, which would otherwise hold its connection open for as long as its caller likes. */
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
    // The names never change, so a watch of another one has nothing more to say; the protocol keeps it open all the same.
    const open = known ? this.#watchers : this.#idle;
    open.add(call);
    call.once('cancelled', () => open.delete(call));
  }
}
