/** Ten thousand open streams on one instance, each of another user: memory, and how long until an event has reached all. */
import { connect, type Socket } from 'node:net';
import type { Lab } from '../lab.ts';
import { Newsroom, reader } from '../newsroom.ts';
import { cpuSeconds, memory } from '../processes.ts';
import { type Row, row } from '../report.ts';

const PER_SEND = 1000;
/** Streams that are being opened at once. */
const OPENING = 50;
const PATIENCE_MS = 120_000;

/** A reader by hand: of what comes it knows whether the stream is open, and how many notifications it told. */
export interface Listener {
  socket: Socket;
  opened: boolean;
  told: number;
}

export function listen(port: number, token: string, changed: (listener: Listener) => void): Listener {
  const socket = connect(port, '127.0.0.1');
  const listener: Listener = { socket, opened: false, told: 0 };
  let rest = '';
  socket.setEncoding('latin1');
  socket.on('data', (text: string) => {
    rest += text;
    listener.opened ||= rest.includes('event: unread-count');
    const parts = rest.split('event: notification');
    listener.told += parts.length - 1;
    // Enough to find an event that comes in two pieces, and too little to find one twice.
    rest = (parts.at(-1) ?? '').slice(-18);
    changed(listener);
  });
  socket.on('error', () => socket.destroy());
  socket.write(
    `GET /api/profile/me/notifications/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  return listener;
}

export async function until(holds: () => boolean, what: string): Promise<void> {
  for (const late = performance.now() + PATIENCE_MS; !holds(); ) {
    if (performance.now() > late) throw new Error(`not in ${PATIENCE_MS / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export async function streams(lab: Lab): Promise<Row[]> {
  const count = lab.settings.quick ? 1000 : 10_000;
  const room = await Newsroom.open(lab, { readers: count, roles: 'rpc,gateway' });
  const listeners: Listener[] = [];
  try {
    const { pid, httpPort } = room.service;
    const empty = memory(pid).rss;
    let opened = 0;
    let told = 0;
    const changed = (listener: Listener): void => {
      if (listener.opened && !known.has(listener)) {
        known.add(listener);
        opened++;
      }
      if (listener.told > 0 && !reached.has(listener)) {
        reached.add(listener);
        told++;
      }
    };
    const known = new Set<Listener>();
    const reached = new Set<Listener>();
    const startedAt = performance.now();
    for (let at = 1; at <= count; at++) {
      const token = await room.issuer.sign(reader(at));
      await until(() => listeners.length - opened < OPENING, `${opened} of ${listeners.length} streams opened`);
      listeners.push(listen(httpPort, token, changed));
    }
    await until(() => opened === count, `${opened} of ${count} streams opened`);
    lab.say(`streams: ${count} open after ${Math.round((performance.now() - startedAt) / 1000)} s`);
    const cpu = cpuSeconds(pid);
    await new Promise((resolve) => setTimeout(resolve, 4000));
    const idle = ((cpuSeconds(pid) - cpu) / 4) * 100;
    const open = memory(pid).rss;
    const sentAt = performance.now();
    // One event for everybody takes as many sends as it has thousands of recipients.
    for (let from = 1; from <= count; from += PER_SEND) {
      const recipients = Array.from({ length: Math.min(PER_SEND, count - from + 1) }, (_, at) => reader(from + at));
      await room.send(recipients, { subject: 'News', payload: { number: 1 } });
    }
    const acceptedMs = performance.now() - sentAt;
    await until(() => told === count, `${told} of ${count} streams were told`);
    const reachedMs = performance.now() - sentAt;
    if (listeners.some((listener) => listener.told !== 1)) throw new Error('somebody was told twice');
    const named = count.toLocaleString('en-US');
    return [
      row('streams', `RSS with ${named} open`, 'MB', [open], { atMost: 500 }),
      row('streams', 'RSS of each', 'KB', [((open - empty) * 1024) / count]),
      row('streams', 'an event has reached all after', 's', [reachedMs / 1000], { atMost: 5 }),
      row('streams', 'of which until the sends were answered', 's', [acceptedMs / 1000]),
      row('streams', 'largest RSS', 'MB', [memory(pid).largest], { atMost: 500 }),
      row('streams', 'CPU while nothing happens', '% of a core', [idle]),
    ];
  } finally {
    for (const { socket } of listeners) socket.destroy();
    await room.close();
  }
}
