import { mkdtempSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import {
  createMailer,
  type Mailer,
  type MailMessage,
  type MailSender,
  type SmtpServer,
} from '../../src/delivery/mail.ts';
import { Mailbox } from '../../src/delivery/mailbox.ts';
import { createAuthority } from '../grpc/certificates.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';
import { accessTokens } from '../support/token-accounts.ts';

const LOGIN = { user: 'atelier', password: 'pässword-of-the-brand' };

function senderBy(smtp: Partial<SmtpServer> | null, brandId = 1): MailSender {
  return {
    brandId,
    slug: 'atelier',
    name: 'Atelier',
    from: { address: 'hello@atelier.example.com', name: 'Atelier, "Ltd"' },
    look: { primaryColor: '#3451b2', backgroundColor: null, logoUrl: null, footerText: 'Somewhere 1\nBrno' },
    smtp:
      smtp === null
        ? null
        : {
            host: '127.0.0.1',
            port: 1,
            secure: false,
            allowInsecure: false,
            user: null,
            password: null,
            oauth2: null,
            ...smtp,
          },
  };
}

const MESSAGE: MailMessage = {
  to: 'ben@example.com',
  subject: 'Žluťoučký kůň',
  html: '<p>Dobrý <b>den</b></p>',
  text: 'Dobrý den',
  locale: 'cs',
  messageId: 'n-17@atelier.example.com',
  fromName: null,
};

const mailers: Mailer[] = [];
function mailerWith(options: Partial<Parameters<typeof createMailer>[0]> = {}): Mailer {
  const mailer = createMailer({ mailbox: null, clock: systemClock, tokens: accessTokens(), ...options });
  mailers.push(mailer);
  return mailer;
}
afterEach(async () => {
  await Promise.all(mailers.splice(0).map((mailer) => mailer.close()));
});

describe('mail over a real server', () => {
  let sink: SmtpSink;
  beforeAll(async () => {
    sink = await startSmtp();
  });
  afterEach(() => {
    sink.fault = null;
  });
  afterAll(() => sink.close());

  test('a mail arrives with addresses, names, both bodies and headers intact', async () => {
    const outcome = await mailerWith().send(senderBy({ port: sink.port }), {
      ...MESSAGE,
      headers: { 'List-Unsubscribe': '<https://usher.example.com/u?token=x>' },
      button: { text: 'Otevřít', url: 'https://usher.example.com/a?b=1&c=2' },
    });
    expect(outcome).toEqual({ kind: 'sent', response: expect.stringContaining('kept as') });
    const mail = await sink.next();
    expect(mail).toMatchObject({ from: 'hello@atelier.example.com', to: ['ben@example.com'] });
    expect(mail.parsed.from?.value).toEqual([{ address: 'hello@atelier.example.com', name: 'Atelier, "Ltd"' }]);
    expect(mail.parsed.subject).toBe('Žluťoučký kůň');
    expect(mail.parsed.messageId).toBe('<n-17@atelier.example.com>');
    expect(mail.parsed.headers.get('auto-submitted')).toBe('auto-generated');
    expect(mail.raw).toContain('List-Unsubscribe: <https://usher.example.com/u?token=x>');
    expect(mail.parsed.text).toBe(
      'Dobrý den\n\nOtevřít:\nhttps://usher.example.com/a?b=1&c=2\n\n--\nSomewhere 1\nBrno\n',
    );
    expect(mail.parsed.html).toContain('<html lang="cs" dir="ltr">');
    expect(mail.parsed.html).toContain('<p>Dobrý <b>den</b></p>');
    expect(mail.parsed.html).toContain('href="https://usher.example.com/a?b=1&amp;c=2"');
  });

  test('a mail may have another sender name, and line breaks in names and subjects break no header', async () => {
    const nasty = 'Auth\r\nBcc: eve@example.com\0';
    const sender = senderBy({ port: sink.port });
    await mailerWith().send(sender, { ...MESSAGE, fromName: nasty, subject: nasty });
    const mail = await sink.next();
    expect(mail.to).toEqual(['ben@example.com']);
    expect(mail.parsed.bcc).toBeUndefined();
    expect(mail.parsed.from?.value).toEqual([
      { address: 'hello@atelier.example.com', name: 'Auth Bcc: eve@example.com' },
    ]);
    expect(mail.parsed.subject).toBe('Auth Bcc: eve@example.com');
  });

  test.each([
    ['to', { to: 'ben@example.com\r\nBcc: eve@example.com' }],
    ['messageId', { messageId: 'x>\nX: y' }],
    ['headers', { headers: { 'X-Usher': 'a\nBcc: eve@example.com' } }],
    ['a header name', { headers: { 'X-Usher\n': 'a' } }],
  ])('a line break in %s is refused before anything is sent', async (_, change) => {
    const before = sink.mails.length;
    const outcome = await mailerWith().send(senderBy({ port: sink.port }), { ...MESSAGE, ...change });
    expect(outcome).toMatchObject({ kind: 'permanent', code: 'header' });
    expect(sink.mails.length).toBe(before);
  });

  test('a path or a URL as content is text, and never opened', async () => {
    const sneaky = { ...MESSAGE, text: '/etc/passwd', html: 'http://127.0.0.1:1/' };
    expect((await mailerWith().send(senderBy({ port: sink.port }), sneaky)).kind).toBe('sent');
    expect((await sink.next()).parsed.text).toContain('/etc/passwd');
  });

  test.each([
    ['4xx at RCPT', { at: 'rcpt', code: 451, words: '4.7.1 greylisted' } as const, 'transient', '451'],
    ['5xx at RCPT', { at: 'rcpt', code: 550, words: '5.1.1 no such mailbox' } as const, 'permanent', '550'],
    ['4xx after the data', { at: 'data', code: 452, words: '4.2.2 full' } as const, 'transient', '452'],
    ['5xx after the data', { at: 'data', code: 554, words: '5.7.1 spam' } as const, 'permanent', '554'],
    ['a refused connection', { at: 'greeting' } as const, 'account', '421'],
    ['5xx at MAIL FROM', { at: 'mail', code: 550, words: '5.4.5 limit' } as const, 'account', '550'],
    ['a cut after the data', { at: 'after-data' } as const, 'unknown', 'ECONNECTION'],
  ])('each response of a mail server has its outcome: %s', async (_, fault, kind, code) => {
    sink.fault = fault;
    const outcome = await mailerWith().send(senderBy({ port: sink.port }), MESSAGE);
    expect(outcome).toMatchObject({ kind, code });
    if ('words' in fault) expect(outcome.response).toContain(fault.words);
  });

  test('a mail is sent after each kind of failure', async () => {
    const mailer = mailerWith();
    sink.fault = { at: 'data', code: 451, words: '4.3.0 later' };
    expect((await mailer.send(senderBy({ port: sink.port }), MESSAGE)).kind).toBe('transient');
    sink.fault = { at: 'after-data' };
    expect((await mailer.send(senderBy({ port: sink.port }), MESSAGE)).kind).toBe('unknown');
    sink.fault = null;
    expect((await mailer.send(senderBy({ port: sink.port }), MESSAGE)).kind).toBe('sent');
    await sink.next();
  });

  test('a closed port and an unknown host are transient, with readable messages', async () => {
    const free = net.createServer();
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', () => resolve()));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    expect(await mailerWith().send(senderBy({ port }), MESSAGE)).toEqual({
      kind: 'transient',
      code: 'ECONNREFUSED',
      response: 'The server refused the connection.',
    });
  });

  test('a silent server is given up at the signal: unknown after the message, else transient', async () => {
    const silent = net.createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', () => resolve()));
    const { port } = silent.address() as AddressInfo;
    const mailer = mailerWith();
    const greeting = await mailer.send(senderBy({ port }, 2), MESSAGE, AbortSignal.timeout(200));
    expect(greeting).toMatchObject({ kind: 'transient', code: 'EABORT' });
    silent.close();
    sink.fault = { at: 'slow', ms: 1500 };
    const data = await mailer.send(senderBy({ port: sink.port }), MESSAGE, AbortSignal.timeout(500));
    expect(data).toMatchObject({ kind: 'unknown', code: 'EABORT' });
    await sink.next();
  });

  test('connections are kept for each sender, and closed when its settings change', async () => {
    const mailer = mailerWith();
    const before = sink.connections;
    for (let at = 0; at < 3; at++) await mailer.send(senderBy({ port: sink.port }), MESSAGE);
    expect(sink.connections - before).toBe(1);
    await mailer.send(senderBy({ port: sink.port, allowInsecure: true }), MESSAGE);
    expect(sink.connections - before).toBe(2);
    // Urgent mail has connections of its own.
    await mailer.send(senderBy({ port: sink.port, allowInsecure: true }), { ...MESSAGE, urgent: true });
    expect(sink.connections - before).toBe(3);
    for (let at = 0; at < 5; at++) await sink.next();
  });
});

describe('encryption and login', () => {
  const authority = createAuthority('Test mail authority');
  const { cert, key } = authority.issue('smtp');
  let encrypted: SmtpSink;
  let plain: SmtpSink;
  beforeAll(async () => {
    encrypted = await startSmtp({ tls: { cert, key }, login: LOGIN });
    plain = await startSmtp();
  });
  afterEach(() => {
    encrypted.fault = null;
  });
  afterAll(() => Promise.all([encrypted.close(), plain.close()]));
  const elsewhere = { addressOf: () => '127.0.0.1' };
  // The certificate is for localhost: under that name, but not as a loopback host, no exemption holds.
  const remote = { host: 'LOCALHOST', port: 0, ...LOGIN };

  test('a remote server must offer STARTTLS before the login', async () => {
    const mailer = mailerWith(elsewhere);
    const sender = senderBy({ host: 'smtp.example.com', port: plain.port, ...LOGIN });
    expect((await mailer.send(sender, MESSAGE)).kind).toBe('account');
    expect(plain.mails).toEqual([]);
    const lax = senderBy({ host: 'smtp.example.com', port: plain.port, allowInsecure: true });
    expect((await mailer.send(lax, MESSAGE)).kind).toBe('sent');
    expect(await plain.next()).toMatchObject({ secure: false });
  });

  test("a remote server's certificate must be trusted and match, unless the brand allows otherwise", async () => {
    const by = (change: Partial<SmtpServer>) => senderBy({ ...remote, port: encrypted.port, ...change });
    expect((await mailerWith(elsewhere).send(by({ host: 'smtp.example.com' }), MESSAGE)).kind).toBe('transient');
    const trusting = mailerWith({ ...elsewhere, ca: authority.cert });
    expect((await trusting.send(by({ host: 'smtp.example.com' }), MESSAGE)).kind).toBe('transient');
    expect(encrypted.mails).toEqual([]);
    expect((await trusting.send(by({}), MESSAGE)).kind).toBe('sent');
    expect(await encrypted.next()).toMatchObject({ secure: true, user: LOGIN.user });
    const lax = by({ host: 'smtp.example.com', allowInsecure: true });
    expect((await mailerWith(elsewhere).send(lax, MESSAGE)).kind).toBe('sent');
    expect(await encrypted.next()).toMatchObject({ secure: true });
  });

  test('a loopback server needs no valid certificate', async () => {
    expect((await mailerWith().send(senderBy({ port: encrypted.port, ...LOGIN }), MESSAGE)).kind).toBe('sent');
    expect(await encrypted.next()).toMatchObject({ secure: true, user: LOGIN.user });
  });

  test('a wrong password is a fault of the sender, not of the message', async () => {
    const sender = senderBy({ port: encrypted.port, ...LOGIN, password: 'wrong' });
    expect(await mailerWith().send(sender, MESSAGE)).toMatchObject({ kind: 'auth', code: '535' });
    const none = senderBy({ port: encrypted.port });
    expect(await mailerWith().send(none, MESSAGE)).toMatchObject({ kind: 'auth', code: '530' });
  });

  test('a server that repeats the password is not quoted', async () => {
    encrypted.fault = {
      at: 'login',
      words: (user, password) =>
        `no ${password} nor ${Buffer.from(password).toString('base64')} nor ${Buffer.from(`\0${user}\0${password}`).toString('base64')}`,
    };
    const outcome = await mailerWith().send(senderBy({ port: encrypted.port, ...LOGIN }), MESSAGE);
    expect(outcome).toMatchObject({ kind: 'auth' });
    expect(outcome.response).toContain('no *** nor *** nor ***');
  });
});

describe('without a server', () => {
  let dataDir: string;
  beforeAll(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'usher-mailbox-'));
  });
  afterAll(() => rm(dataDir, { recursive: true }));

  test('production keeps no mail without a server', async () => {
    expect(await mailerWith().send(senderBy(null), MESSAGE)).toMatchObject({ kind: 'no_smtp' });
  });

  test('development keeps the newest 200 mails in a private file', async () => {
    const mailbox = new Mailbox(dataDir, systemClock);
    expect(await mailbox.list()).toEqual([]);
    const mailer = mailerWith({ mailbox });
    const outcome = await mailer.send(senderBy(null), MESSAGE);
    expect(outcome).toMatchObject({ kind: 'sent' });
    const [kept] = await mailbox.list();
    expect(kept).toMatchObject({ to: 'ben@example.com', subject: 'Žluťoučký kůň' });
    expect(kept?.html).toContain('<b>den</b>');
    expect(await mailbox.get(kept?.id ?? '')).toEqual(kept);
    expect(await mailbox.get('../../etc/passwd')).toBeNull();
    expect((await stat(join(dataDir, 'mailbox', `${kept?.id}.json`))).mode & 0o777).toBe(0o600);
    let now = Date.now();
    const fast = new Mailbox(dataDir, { ...systemClock, now: () => now++ });
    const composed = {
      from: { address: 'a@b', name: '' },
      to: 'c@d',
      html: '',
      text: '',
      messageId: '<x>',
      headers: {},
    };
    for (let at = 0; at < 202; at++) await fast.keep({ ...composed, subject: String(at) });
    const files = await readdir(join(dataDir, 'mailbox'));
    expect(files).toHaveLength(200);
    expect((await fast.list())[0]?.subject).toBe('201');
  });
});
