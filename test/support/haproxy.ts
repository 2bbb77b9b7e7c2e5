import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from './postgres-server.ts';

/** What Patroni answers at /primary. */
async function startResponder(url: string, timeoutMs: number): Promise<{ port: number; server: Server }> {
  const isPrimary = async (): Promise<boolean> => {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: timeoutMs,
      query_timeout: timeoutMs,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query('select pg_is_in_recovery() as standby')).rows[0]?.standby === false;
    } catch {
      return false; // it is not there, which is an answer too
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  const server = createServer((_, response) => {
    void isPrimary().then((yes) => response.writeHead(yes ? 200 : 503).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return { server, port: typeof address === 'object' && address !== null ? address.port : 0 };
}

/**
 * A real HAProxy that leads to the primary of several servers, with the lines of docs/guides/postgresql.md. Each server has a responder
 * beside it that says what Patroni's would. HAProxy must be installed, or named in HAPROXY.
 */
export class HaProxy {
  readonly port: number;
  readonly #folder: string;
  readonly #responders: Server[];
  readonly #child: ChildProcess;

  private constructor(port: number, folder: string, responders: Server[], child: ChildProcess) {
    this.port = port;
    this.#folder = folder;
    this.#responders = responders;
    this.#child = child;
  }

  /**
   * `servers` are URLs of databases; a server that is started anew has to have its old port. `patient`: on a machine with other work, a
   * primary that answers late is not taken for one that is gone.
   */
  static async start(servers: readonly string[], { patient = false } = {}): Promise<HaProxy> {
    const checks = patient ? 'inter 3s fastinter 1500ms fall 3 rise 1' : 'inter 500ms fall 2 rise 1';
    const responders: Server[] = [];
    const lines: string[] = [];
    for (const [at, server] of servers.entries()) {
      const responder = await startResponder(server, patient ? 1400 : 300);
      responders.push(responder.server);
      lines.push(`  server s${at} 127.0.0.1:${new URL(server).port} check port ${responder.port}`);
    }
    const folder = mkdtempSync(join(tmpdir(), 'usher-haproxy-'));
    const file = join(folder, 'haproxy.cfg');
    const port = await freePort();
    writeFileSync(
      file,
      `defaults
  mode tcp
  timeout connect 1s
  timeout client 1h
  timeout server 1h

listen primary
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server ${checks} on-marked-down shutdown-sessions
${lines.join('\n')}
`,
    );
    // It dies with this process, whatever ends that.
    const command = [process.env.HAPROXY ?? 'haproxy', '-db', '-f', file];
    const child = spawn('setpriv', ['--pdeathsig=KILL', ...command], { stdio: 'ignore' });
    await once(child, 'spawn');
    // All count as up until the first checks.
    await delay(patient ? 9000 : 3000);
    return new HaProxy(port, folder, responders, child);
  }

  /** The same database by way of HAProxy. */
  url(database: string): string {
    const url = new URL(database);
    url.port = `${this.port}`;
    return url.href;
  }

  close(): void {
    this.#child.kill('SIGKILL');
    for (const responder of this.#responders) responder.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
