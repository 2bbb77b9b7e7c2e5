import type { AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';

/** A mail as a real SMTP server got it. */
export interface ReceivedMail {
  /** The envelope. */
  from: string;
  to: string[];
  /** Whether the connection was encrypted. */
  secure: boolean;
  user: string | null;
  raw: string;
  parsed: ParsedMail;
}

/** What the server does to the next messages, until it is told otherwise. */
export type SmtpFault =
  /** An answer to MAIL FROM, to RCPT TO, or to the end of the data; null for a recipient that is taken. */
  | { at: 'mail' | 'rcpt' | 'data'; code: number; words: string | ((to: string) => string | null) }
  /** Takes the whole message, then cuts the connection without a word. */
  | { at: 'after-data' }
  /** Refuses the connection when it greets. */
  | { at: 'greeting'; code?: number }
  /** The delay of the answer to the end of the data, in milliseconds. */
  | { at: 'slow'; ms: number }
  /** Answers the end of the data only when `until` resolves, but for mails to `except`. */
  | { at: 'held'; except: string; until: Promise<void> }
  /** Calls `hit` and says nothing more: when somebody connects, names a recipient, or has sent a whole mail, which is kept. */
  | { at: 'silent'; on: 'connect' | 'rcpt' | 'data'; hit: () => void }
  /** Refuses every login; the words may repeat what was sent: of XOAUTH2 user and access token. */
  | { at: 'login'; words: (user: string, password: string) => string };

export interface SmtpSink {
  readonly port: number;
  readonly mails: ReceivedMail[];
  /** Whom it refused, by a fault: of MAIL FROM the sender, else the recipient. */
  readonly refusals: string[];
  /** The passwords and access tokens that were sent to it. */
  readonly logins: string[];
  /** Connections so far. */
  connections: number;
  fault: SmtpFault | null;
  /** The next mail, also one that is there already and was not taken by this. */
  next(): Promise<ReceivedMail>;
  close(): Promise<void>;
}

export interface SmtpSinkOptions {
  /** Offers STARTTLS with this certificate; none without it. */
  tls?: { cert: string; key: string };
  /** Demands a login with these; none is taken without it. */
  login?: { user: string; password: string };
  /** Demands XOAUTH2 with an access token that it takes. Another one is refused at once, or, as large providers do it, with an explanation first. */
  xoauth2?: { takes: (user: string, token: string) => Promise<boolean>; explains: boolean };
}

/** A real SMTP server on loopback that keeps what it gets. */
export async function startSmtp({ tls, login, xoauth2 }: SmtpSinkOptions = {}): Promise<SmtpSink> {
  const waiting: ((mail: ReceivedMail) => void)[] = [];
  let taken = 0;
  /** Whether it falls silent here. */
  const falls = (on: 'connect' | 'rcpt' | 'data'): boolean => {
    const { fault } = sink;
    if (fault?.at !== 'silent' || fault.on !== on) return false;
    fault.hit();
    return true;
  };
  const refusal = (at: 'mail' | 'rcpt' | 'data', address: string): Error | null => {
    const { fault } = sink;
    if (fault?.at !== at) return null;
    const words = typeof fault.words === 'string' ? fault.words : fault.words(address);
    if (words === null) return null;
    refusals.push(address);
    return reply(fault.code, words);
  };
  const refusals: string[] = [];
  const demands = login !== undefined || xoauth2 !== undefined;
  const server = new SMTPServer({
    ...tls,
    disabledCommands: [...(tls === undefined ? ['STARTTLS'] : []), ...(demands ? [] : ['AUTH'])],
    authOptional: !demands,
    ...(xoauth2 === undefined ? {} : { authMethods: ['XOAUTH2'] }),
    allowInsecureAuth: true,
    disableReverseLookup: true,
    onConnect(_session, callback) {
      sink.connections++;
      if (falls('connect')) return;
      if (sink.fault?.at === 'greeting') callback(reply(sink.fault.code ?? 421, 'closing'));
      else callback();
    },
    onAuth(auth, _session, callback) {
      const [username, password] = [auth.username ?? '', auth.password ?? auth.accessToken ?? ''];
      sink.logins.push(password);
      if (sink.fault?.at === 'login') callback(reply(535, sink.fault.words(username, password)));
      else if (xoauth2 !== undefined) {
        const refused = () => (xoauth2.explains ? callback(null, { data: { status: '401' } }) : callback(wrong()));
        void xoauth2.takes(username, password).then((is) => (is ? callback(null, { user: username }) : refused()));
      } else if (username === login?.user && password === login.password) callback(null, { user: username });
      else callback(wrong());
    },
    onMailFrom({ address }, _session, callback) {
      callback(refusal('mail', address));
    },
    onRcptTo({ address }, _session, callback) {
      if (!falls('rcpt')) callback(refusal('rcpt', address));
    },
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const { fault } = sink;
        const refused = refusal('data', session.envelope.rcptTo[0]?.address ?? '');
        if (refused !== null) return callback(refused);
        if (fault?.at === 'after-data') {
          for (const connection of server.connections) connection.close();
          return undefined;
        }
        const raw = Buffer.concat(chunks).toString();
        const keep = async (): Promise<void> => {
          const mail: ReceivedMail = {
            from: session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address,
            to: session.envelope.rcptTo.map(({ address }) => address),
            secure: session.secure,
            user: (session.user as string | undefined) ?? null,
            raw,
            parsed: await simpleParser(raw),
          };
          sink.mails.push(mail);
          const first = waiting.shift();
          if (first !== undefined) {
            taken++;
            first(mail);
          }
          if (!falls('data')) callback(null, `2.0.0 kept as ${sink.mails.length}`);
        };
        const isHeld = fault?.at === 'held' && !session.envelope.rcptTo.some(({ address }) => address === fault.except);
        if (isHeld) void fault.until.then(keep);
        else setTimeout(() => void keep(), fault?.at === 'slow' ? fault.ms : 0);
        return undefined;
      });
    },
  });
  // A client that hangs up in the middle is part of the tests.
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const sink: SmtpSink = {
    port: (server.server.address() as AddressInfo).port,
    mails: [],
    refusals,
    logins: [],
    connections: 0,
    fault: null,
    next: () => {
      const there = sink.mails[taken];
      if (there !== undefined) {
        taken++;
        return Promise.resolve(there);
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const connection of server.connections) connection.close();
      }),
  };
  return sink;
}

function wrong(): Error {
  return reply(535, '5.7.8 authentication failed');
}

function reply(responseCode: number, words: string): Error {
  return Object.assign(new Error(words), { responseCode });
}
