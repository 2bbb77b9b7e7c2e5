/** Connections that have made one call each and stay open: what they cost the server. */
import { once } from 'node:events';
import { type ClientHttp2Session, connect } from 'node:http2';
import { memory } from './processes.ts';
import { KEY } from './service.ts';
import { encodeCheck, framed } from './wire.ts';

const AT_ONCE = 50;
/** For the server's own timers, and for its heap to be given back. */
const SETTLE_MS = 3000;

const QUESTION = framed(
  encodeCheck({
    email: 'idle@example.com',
    app: 'idle',
    permission: 'idle',
    resourceType: '',
    resourceId: '',
    asked: 0,
  }),
);

/** Kilobytes of resident memory that each of `count` idle connections adds to the process. */
export async function memoryOfIdle({ pid, port }: { pid: number; port: number }, count: number): Promise<number> {
  // Those that the process needs for the first connections of its life do not count.
  const first = await open(port, AT_ONCE);
  for (const session of first) session.destroy();
  await settle();
  const before = memory(pid).rss;
  const sessions: ClientHttp2Session[] = [];
  try {
    while (sessions.length < count) sessions.push(...(await open(port, Math.min(AT_ONCE, count - sessions.length))));
    await settle();
    return ((memory(pid).rss - before) * 1024) / count;
  } finally {
    for (const session of sessions) session.destroy();
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
}

function open(port: number, count: number): Promise<ClientHttp2Session[]> {
  return Promise.all(Array.from({ length: count }, () => openOne(port)));
}

async function openOne(port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${port}`);
  const stream = session.request({
    ':method': 'POST',
    ':path': '/usher.permission.v1.PermissionService/Check',
    'content-type': 'application/grpc',
    te: 'trailers',
    'x-internal-api-key': KEY,
  });
  stream.end(QUESTION);
  stream.resume();
  await once(stream, 'end');
  return session;
}
