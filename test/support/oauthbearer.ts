/** A mail server on loopback that speaks as much SMTP as one mail takes, and of sign-ins OAUTHBEARER alone (RFC 7628), which npm smtp-server does not know. */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

export interface BearerServer {
  readonly port: number;
  /** What clients sent to sign in, decoded. */
  readonly signIns: string[];
  /** Their answers to the explanation of a refusal. */
  readonly acknowledged: string[];
  /** The envelopes of mails that arrived, with who had signed in. */
  readonly mails: { from: string; to: string; by: string }[];
  /** Whether it ends a session whose sign-in it refused. */
  hangsUp: boolean;
  close(): Promise<void>;
}

export async function startBearerServer(takes: (token: string) => Promise<boolean>): Promise<BearerServer> {
  const seen: Omit<BearerServer, 'port' | 'close'> = { signIns: [], acknowledged: [], mails: [], hangsUp: false };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    void converse(socket, takes, seen);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(seen, {
    port: (server.address() as AddressInfo).port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
}

async function converse(
  socket: Socket,
  takes: (token: string) => Promise<boolean>,
  seen: Omit<BearerServer, 'port' | 'close'>,
): Promise<void> {
  const { signIns, acknowledged, mails } = seen;
  const say = (line: string) => socket.write(`${line}\r\n`);
  const envelope = { from: '', to: '', by: '' };
  let next: 'command' | 'acknowledgment' | 'data' = 'command';
  say('220 bearer ESMTP');
  for await (const line of createInterface({ input: socket })) {
    if (next === 'acknowledgment') {
      acknowledged.push(Buffer.from(line, 'base64').toString());
      next = 'command';
      say('535 5.7.8 authentication failed');
      if (seen.hangsUp) socket.end();
    } else if (next === 'data') {
      if (line !== '.') continue;
      mails.push({ ...envelope });
      next = 'command';
      say('250 2.0.0 kept');
    } else if (/^EHLO/i.test(line)) {
      say('250-bearer');
      say('250 AUTH OAUTHBEARER');
    } else if (line.startsWith('AUTH OAUTHBEARER ')) {
      const initial = Buffer.from(line.slice('AUTH OAUTHBEARER '.length), 'base64').toString();
      signIns.push(initial);
      if (await takes(tokenIn(initial))) {
        envelope.by = /^n,a=([^,]*),/.exec(initial)?.[1] ?? '';
        say('235 2.7.0 accepted');
      } else {
        next = 'acknowledgment';
        say(`334 ${Buffer.from('{"status":"invalid_token"}').toString('base64')}`);
      }
    } else if (line.startsWith('AUTH ')) say('504 5.5.4 unrecognized authentication type');
    else if (/^MAIL FROM/i.test(line)) {
      envelope.from = /<(.*?)>/.exec(line)?.[1] ?? '';
      say(envelope.by === '' ? '530 5.7.0 authentication required' : '250 2.1.0 ok');
    } else if (/^RCPT TO/i.test(line)) {
      envelope.to = /<(.*?)>/.exec(line)?.[1] ?? '';
      say('250 2.1.5 ok');
    } else if (/^DATA/i.test(line)) {
      next = 'data';
      say('354 go on');
    } else if (/^QUIT/i.test(line)) {
      say('221 2.0.0 bye');
      socket.end();
    } else say('250 2.0.0 ok');
  }
}

/** RFC 7628 3.1. */
function tokenIn(initial: string): string {
  const prefix = 'auth=Bearer ';
  const member = initial.split('\x01').find((one) => one.startsWith(prefix));
  return member?.slice(prefix.length) ?? '';
}
