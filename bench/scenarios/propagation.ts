/** A change acknowledged by one instance, seen by another on the same PostgreSQL: with LISTEN alive, and dead in silence. */
import { type ClientHttp2Session, connect } from 'node:http2';
import { stringify } from 'yaml';
import type { Lab } from '../lab.ts';
import { percentile, type Row } from '../report.ts';
import { KEY, Service } from '../service.ts';
import { SilentProxy } from '../silent-proxy.ts';
import { encodeCheck, framed } from '../wire.ts';

/** Who is granted and denied in turns. */
export const ASKED = {
  email: 'propagation@example.com',
  app: 'propagation',
  permission: 'document.read',
  resource: { type: 'document', id: 'one' },
} as const;

/** An application with one permission and one override, granting or denying: each apply after the first is one change. */
function manifestOf(granted: boolean): string {
  return stringify({
    application: { code: 'propagation', name: 'Propagation' },
    entities: [{ code: 'document', name: 'Document' }],
    permissions: [{ code: ASKED.permission, type: 'binary' }],
    overrides: [
      {
        email: ASKED.email,
        resourceType: ASKED.resource.type,
        resourceId: ASKED.resource.id,
        permission: ASKED.permission,
        granted,
      },
    ],
  });
}

/** When the write was acknowledged, by `performance.now`. */
export async function write(service: Service, token: string, granted: boolean): Promise<number> {
  const response = await fetch(`${service.url}/api/manifests/apply`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/yaml', accept: 'application/json' },
    body: manifestOf(granted),
  });
  const acknowledgedAt = performance.now();
  const text = await response.text();
  if (!response.ok) throw new Error(`apply answered ${response.status}: ${text.slice(0, 500)}`);
  return acknowledgedAt;
}

const QUESTION = framed(
  encodeCheck({
    email: ASKED.email,
    app: ASKED.app,
    permission: ASKED.permission,
    resourceType: ASKED.resource.type,
    resourceId: ASKED.resource.id,
    asked: 0,
  }),
);

/** Whether the instance or edge behind `session` allows it now. */
export function ask(session: ClientHttp2Session): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/usher.permission.v1.PermissionService/Check',
      'content-type': 'application/grpc',
      te: 'trailers',
      'x-internal-api-key': KEY,
    });
    const chunks: Buffer[] = [];
    stream.on('error', reject);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('trailers', (trailers) => {
      if (trailers['grpc-status'] !== '0') reject(new Error(`grpc-status ${String(trailers['grpc-status'])}`));
    });
    stream.on('end', () => {
      const message = Buffer.concat(chunks).subarray(5);
      // Field 1, `allowed`, stands first where it is true.
      resolve(message[0] === 8 && message[1] === 1);
    });
    stream.end(QUESTION);
  });
}

/** Milliseconds from the acknowledgement by `a` until `b` answers anew; 0 when it already did. */
async function trial(a: Service, b: ClientHttp2Session, token: string, granted: boolean): Promise<number> {
  const acknowledgedAt = await write(a, token, granted);
  for (;;) {
    const answer = await ask(b);
    const now = performance.now();
    if (answer === granted) return now - acknowledgedAt;
    if (now - acknowledgedAt > 10_000) throw new Error('not seen by the other instance in 10 s');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

async function measure(lab: Lab, silent: boolean): Promise<number[]> {
  const url = new URL(await lab.emptyDatabase());
  const proxy = silent ? await SilentProxy.start(url) : null;
  const a = await Service.start({ databaseUrl: url.href, core: null });
  const behind = new URL(url);
  if (proxy) behind.port = String(proxy.port);
  const b = await Service.start({ databaseUrl: behind.href, core: null });
  const session = connect(`http://127.0.0.1:${b.grpcPort}`);
  session.on('error', () => session.destroy());
  try {
    const token = await a.adminToken();
    const delays: number[] = [];
    await write(a, token, false);
    for (let i = 0; i < lab.settings.trials; i++) {
      delays.push(await trial(a, session, token, i % 2 === 0));
      // Spread over the period of B's poll.
      await new Promise((resolve) => setTimeout(resolve, (i * 37) % 250));
    }
    if (proxy && proxy.dropped === 0) throw new Error('no notification was swallowed: LISTEN was not there to die');
    return delays;
  } finally {
    session.destroy();
    await Promise.all([a.stop(), b.stop()]);
    await proxy?.close();
  }
}

function rows(mode: string, delays: readonly number[]): Row[] {
  const scenario = 'propagation';
  const p99 = percentile(delays, 0.99);
  const max = Math.max(...delays);
  const all = { scenario, unit: 'ms' };
  return [
    { ...all, measure: `${mode}: p50 of ${delays.length}`, value: percentile(delays, 0.5) },
    { ...all, measure: `${mode}: p90`, value: percentile(delays, 0.9) },
    { ...all, measure: `${mode}: p99`, value: p99, goal: '≤ 400', pass: p99 <= 400 },
    { ...all, measure: `${mode}: longest`, value: max, goal: '≤ 1000', pass: max <= 1000 },
  ];
}

export async function propagation(lab: Lab): Promise<Row[]> {
  const alive = await measure(lab, false);
  lab.say(`propagation, LISTEN alive: p99 ${percentile(alive, 0.99).toFixed(1)} ms`);
  const dead = await measure(lab, true);
  lab.say(`propagation, LISTEN dead: p99 ${percentile(dead, 0.99).toFixed(1)} ms`);
  return [...rows('LISTEN alive', alive), ...rows('LISTEN dead', dead)];
}
