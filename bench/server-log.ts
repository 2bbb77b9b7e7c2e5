/** PostgreSQL's log as a source of measurements: what its sessions are told to write there, and reading on from a place in it. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import pg from 'pg';

/** Has sessions of that database, from the next one on, work with these settings. */
export async function configureSessions(url: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const database = client.escapeIdentifier(new URL(url).pathname.slice(1));
  for (const [name, value] of Object.entries(settings)) {
    await client.query(`alter database ${database} set ${name} = ${client.escapeLiteral(value)}`);
  }
  await client.end();
}

/** From where it stands when this is made. */
export class ServerLog {
  readonly #file: string;
  #at: number;

  constructor(file: string) {
    this.#file = file;
    this.#at = statSync(file).size;
  }

  /** Forgets what was logged so far. */
  skip(): void {
    this.#at = statSync(this.#file).size;
  }

  /** What was logged since the last call. A statement is logged before its answer leaves, so nothing of an answered request is lacking. */
  read(): string {
    const size = statSync(this.#file).size;
    const bytes = Buffer.alloc(size - this.#at);
    const file = openSync(this.#file, 'r');
    readSync(file, bytes, 0, bytes.length, this.#at);
    closeSync(file);
    this.#at = size;
    return bytes.toString('utf8');
  }
}
