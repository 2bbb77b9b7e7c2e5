/**
 * A mail server and a push service that take everything and keep nothing but counts, in a process of their own; both on free
 * ports of loopback. Speaks over IPC: says its ports first, then its counts to every message.
 */
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';

const counts = { mails: 0, pushes: 0 };
const END = Buffer.from('\r\n.\r\n');

/** As much of SMTP as a client needs that sends one mail after the other. */
function serve(socket: Socket): void {
  let rest: Buffer = Buffer.alloc(0);
  let inData = false;
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.write('220 sink ESMTP\r\n');
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (;;) {
      const end = inData ? rest.indexOf(END) : rest.indexOf('\r\n');
      if (end < 0) return;
      if (inData) {
        rest = rest.subarray(end + END.length);
        inData = false;
        counts.mails++;
        socket.write('250 2.0.0 taken\r\n');
        continue;
      }
      const command = rest.toString('latin1', 0, Math.min(end, 4)).toUpperCase();
      rest = rest.subarray(end + 2);
      if (command === 'EHLO') socket.write('250-sink\r\n250-8BITMIME\r\n250 SMTPUTF8\r\n');
      else if (command === 'DATA') {
        inData = true;
        socket.write('354 go on\r\n');
      } else if (command === 'QUIT') socket.end('221 bye\r\n');
      else socket.write('250 2.0.0 ok\r\n');
    }
  });
}

const smtp = createServer(serve);
const push = createHttpServer((request, response) => {
  request.resume();
  request.on('end', () => {
    counts.pushes++;
    response.writeHead(201).end();
  });
});
push.keepAliveTimeout = 60_000;

function listen(server: ReturnType<typeof createServer>, host: string): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, host, () => resolve((server.address() as AddressInfo).port));
  });
}

const ports = { smtp: await listen(smtp, '127.0.0.1'), push: await listen(push, 'localhost') };
process.on('message', () => process.send?.(counts));
process.send?.(ports);
