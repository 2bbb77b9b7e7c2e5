import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';

/** The fields of PostgreSQL's ErrorResponse, by their letters. */
export type Refusal = Readonly<Record<string, string>>;

export interface RefusingPostgres {
  readonly url: string;
  /** What the next connections are refused with; null closes them without a word. */
  refusal: Refusal | null;
  /** Connections so far. */
  connections: number;
  close(): Promise<void>;
}

/** A server that speaks PostgreSQL as far as refusing a connection. It offers no TLS. */
export async function startRefusingPostgres(refusal: Refusal | null): Promise<RefusingPostgres> {
  const sockets = new Set<Socket>();
  const refusing = { refusal, connections: 0 };
  const server = createServer((socket) => {
    refusing.connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      // SSLRequest: eight bytes, the second four of them 80877103.
      if (chunk.length === 8 && chunk.readInt32BE(4) === 80_877_103) socket.write('N');
      else socket.end(refusing.refusal === null ? '' : errorResponse(refusing.refusal));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return Object.assign(refusing, {
    url: `postgresql://somebody:canary@127.0.0.1:${port}/usher`,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  });
}

/** A refusal as a PostgreSQL that speaks Polish words it: only `V`, codes and routines are the same in every language. */
export function fatal(code: string, message = 'canary', routine = 'InitPostgres'): Refusal {
  return { S: 'KATASTROFALNY', V: 'FATAL', C: code, M: message, F: 'postinit.c', R: routine };
}

function errorResponse(fields: Refusal): Buffer {
  const body = Object.entries(fields)
    .map(([letter, text]) => `${letter}${text}\0`)
    .join('');
  const bytes = Buffer.from(`E\0\0\0\0${body}\0`);
  bytes.writeInt32BE(bytes.length - 1, 1);
  return bytes;
}
