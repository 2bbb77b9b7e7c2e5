import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { imageEnvironment } from '../../deploy/test/dockerfile.ts';
import { toConfig } from '../../src/config/config.ts';
import { KEYS } from '../../src/config/keys.ts';
import { type RunningService, startService } from '../cli/harness.ts';
import { createDatabase, databaseEnv, type PostgresDatabase } from '../support/postgres.ts';
import { type SmtpSink, startSmtp } from '../support/smtp.ts';

/** deploy/compose, without containers: its variables, and its services' commands on a real PostgreSQL and a mail server. */

const ROOT = join(import.meta.dirname, '../..');
const FOLDER = join(ROOT, 'deploy/compose');
const run = promisify(execFile);

interface Compose {
  readonly services: Record<string, { environment: Record<string, string>; ports?: string[]; entrypoint?: string[] }>;
}
const { services } = parse(readFileSync(join(FOLDER, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;

describe('deploy/compose/compose.yaml', () => {
  test.each(['usher', 'setup'])(
    'sets only variables that exist for %s, for a development start on PostgreSQL',
    (name) => {
      const environment = services[name]?.environment ?? {};
      const known = ['NODE_ENV', ...Object.values(KEYS).map(({ variable }) => variable)];
      expect(Object.keys(environment).length).toBeGreaterThan(0);
      for (const variable of Object.keys(environment)) expect(known).toContain(variable);
      const config = toConfig({ env: { ...imageEnvironment(), ...environment } });
      expect(config).toMatchObject({ production: false, http: { host: '127.0.0.1', port: 8080 }, ops: { port: 9090 } });
      expect(config.database.url).toMatch(/@127\.0\.0\.1:54320\//);
    },
  );

  test('publishes nothing beyond this machine', () => {
    const ports = Object.values(services).flatMap((service) => service.ports ?? []);
    expect(ports).toContain('127.0.0.1:54320:5432');
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });
});

describe('the commands of deploy/compose', () => {
  let database: PostgresDatabase;
  let smtp: SmtpSink;
  let service: RunningService;
  let printed = '';
  beforeAll(async () => {
    database = await createDatabase({ empty: true });
    smtp = await startSmtp();
    const onOutput = (text: string) => {
      printed += text;
    };
    service = await startService({ ...services.usher?.environment, ...databaseEnv(database.url) }, { onOutput });
  });
  afterAll(async () => {
    await service.remove();
    await smtp.close();
    await database.drop();
  });

  const setup = async (): Promise<string> => {
    const [, script = ''] = services.setup?.entrypoint ?? [];
    const env = {
      ...process.env,
      ...services.setup?.environment,
      ...service.env,
      ...databaseEnv(database.url),
      SMTP_PORT: String(smtp.port),
    };
    const { stdout } = await run(process.execPath, [join(FOLDER, script), join(ROOT, 'src/main.ts')], { env });
    return stdout;
  };

  test('lead to the panel, the demonstration and a mail in the catcher, once or twice', async () => {
    expect(await setup()).toContain('The demonstration is loaded');
    expect(await setup()).toContain('The demonstration is loaded');
    const code = /\/panel\/\?code=(\S+)/.exec(printed)?.[1] ?? '';
    const people = await fetch(`${service.url.replace('127.0.0.1', 'localhost')}/dev/sign-in?code=${code}`, {
      headers: { 'sec-fetch-site': 'same-origin' },
    });
    expect({ status: people.status, text: await people.text() }).toMatchObject({
      status: 200,
      text: expect.stringContaining('ada@example.com'),
    });
    const key = readFileSync(join(service.dataDir, 'internal-api-key'), 'utf8').trim();
    const sent = await fetch(`${service.url}/api/internal/notifications`, {
      method: 'POST',
      headers: { 'x-internal-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({
        appCode: 'atelier',
        type: 'project-ready',
        recipients: ['ben@example.com'],
        subject: 'Project 1042 is ready',
        body: 'Have a look.',
      }),
    });
    expect(sent.status).toBe(202);
    expect(await smtp.next()).toMatchObject({ from: 'usher@example.com', to: ['ben@example.com'] });
  });
});
