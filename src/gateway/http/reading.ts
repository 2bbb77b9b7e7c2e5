/**
 * Stops the reading of a connection. To pause a request is not enough: node:http reads on until 16 kB of its body wait, which are
 * thousands of chunks if they are tiny, and node:net up to 32 times 64 kB in one turn of the event loop.
 */

import type { Socket } from 'node:net';

const held = new WeakSet<Socket>();
const unread = new WeakSet<Socket>();

/** Reads nothing more of a connection in this turn of the event loop, so that others are read before it. */
export function readLater(socket: Socket): void {
  if (held.has(socket)) return;
  const release = hold(socket);
  setImmediate(() => {
    if (unread.has(socket)) return;
    release();
    socket.resume();
  });
}

/** Reads nothing more of a connection at all. The caller cuts it. */
export function readNoMore(socket: Socket): void {
  unread.add(socket);
  if (!held.has(socket)) hold(socket);
}

/** Returns what ends it. */
function hold(socket: Socket): () => void {
  // node:http resumes the socket in the next tick, whenever its request may take more.
  const pauseAgain = (): void => {
    socket.pause();
  };
  held.add(socket);
  socket.on('resume', pauseAgain);
  socket.pause();
  return () => {
    held.delete(socket);
    socket.off('resume', pauseAgain);
  };
}
