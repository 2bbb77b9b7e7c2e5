/**
 * The load generator: a process of its own, pinned to its own core, told over IPC what to do (generator-client.ts).
 * Every answer is compared with the known one; the latency of a question runs from its hand-over to the socket until the
 * read that completes its answer.
 */

import { HttpConnection, HttpRequests } from './http1-client.ts';
import { GrpcConnection, GrpcFrames, type Variety } from './http2-client.ts';
import type { Connection } from './load.ts';
import { Slice, type SliceOptions, type SliceResult, Switchboard } from './slice.ts';
import { type Answers, type SignedInRequest, signedInWorkload, type WorkloadName, Workloads } from './workloads.ts';

export interface OpenOptions {
  target: string;
  protocol: 'grpc' | 'http1';
  port: number;
  workload: WorkloadName;
  answers: Answers;
  connections: number;
  key: string | undefined;
  /** gRPC: a deadline in each call, another one each time. */
  timeouts?: boolean;
  /** gRPC: a trace in each call, another one each time; one in a hundred is sampled. */
  traces?: boolean;
  /** gRPC: by TLS, with a certificate of this authority. */
  ca?: string;
  /** For the workloads of signed-in people: by whom, and what the answer must hold. */
  requests?: readonly SignedInRequest[];
}

export type GeneratorCommand =
  | { id: number; command: 'open'; options: OpenOptions }
  | { id: number; command: 'slice'; target: string; options: SliceOptions }
  | { id: number; command: 'close'; target: string };

export type GeneratorReply = { id: number; error?: string; size?: number; slice?: SliceResult };

interface Target {
  connections: Connection[];
  switchboard: Switchboard;
  size: number;
}

const workloads = new Workloads();
const targets = new Map<string, Target>();

function varietyOf({ timeouts, traces }: OpenOptions): Variety | undefined {
  if (traces) return 'traces';
  return timeouts ? 'timeouts' : undefined;
}

async function open(options: OpenOptions): Promise<number> {
  const { requests } = options;
  const workload =
    options.workload === 'profile' || options.workload === 'activity'
      ? signedInWorkload(options.workload, requests ?? [])
      : workloads.get(options.workload, options.answers);
  const authority = `127.0.0.1:${options.port}`;
  const switchboard = new Switchboard();
  const opened: Promise<Connection>[] = [];
  if (options.protocol === 'grpc') {
    const frames = new GrpcFrames(workload, authority, options.key, varietyOf(options));
    for (let i = 0; i < options.connections; i++) {
      opened.push(GrpcConnection.open(options.port, frames, switchboard, options.ca));
    }
  } else {
    const requests = new HttpRequests(workload, authority, options.key);
    for (let i = 0; i < options.connections; i++) opened.push(HttpConnection.open(options.port, requests, switchboard));
  }
  targets.set(options.target, { connections: await Promise.all(opened), switchboard, size: workload.size });
  return workload.size;
}

function target(name: string): Target {
  const found = targets.get(name);
  if (!found) throw new Error(`no target ${name} is open`);
  return found;
}

async function handle(message: GeneratorCommand): Promise<Omit<GeneratorReply, 'id'>> {
  switch (message.command) {
    case 'open':
      return { size: await open(message.options) };
    case 'slice': {
      const { connections, switchboard, size } = target(message.target);
      const slice = new Slice(message.options, size);
      switchboard.slice = slice;
      try {
        return { slice: await slice.run(connections) };
      } finally {
        switchboard.slice = null;
      }
    }
    case 'close':
      for (const connection of target(message.target).connections) connection.close();
      targets.delete(message.target);
      return {};
  }
}

function reply(message: GeneratorReply): void {
  process.send?.(message);
}

process.on('message', (message: GeneratorCommand) => {
  handle(message).then(
    (result) => reply({ id: message.id, ...result }),
    (error: Error) => reply({ id: message.id, error: error.stack ?? error.message }),
  );
});
process.on('disconnect', () => process.exit(0));
