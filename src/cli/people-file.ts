/** A CSV file of people (docs/reference/people.md#import). */

import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { lowerAscii } from '../base/grammar.ts';
import { codeOf } from '../base/members.ts';
import { type Issue, issueLines } from './files.ts';
import { CommandFailed, type Io } from './io.ts';

export const PEOPLE_COLUMNS = [
  'email',
  'firstName',
  'lastName',
  'displayName',
  'locale',
  'timezone',
  'brand',
  'roles',
] as const;
type Column = (typeof PEOPLE_COLUMNS)[number];

/** As the service takes them; an empty cell is absent. */
export type Person = { email: string; roles?: string[] } & Partial<Record<Exclude<Column, 'email' | 'roles'>, string>>;

export interface PeopleFile {
  readonly name: string;
  readonly people: readonly { readonly person: Person; readonly line: number }[];
}

/** A row of the file, with the line on which it begins. */
interface Row {
  readonly cells: readonly string[];
  readonly line: number;
}

/** The failure for a file with these faults. */
export function faulty(name: string, issues: readonly Issue[]): CommandFailed {
  const count = issues.length === 1 ? 'a fault' : `${issues.length} faults`;
  const sorted = issues.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
  return new CommandFailed(`${name} has ${count}; nothing was imported.`, {
    lines: issueLines(name, sorted),
    code: 'VALIDATION_FAILED',
    details: { issues: sorted },
  });
}

/** Reads a file. Rejects with CommandFailed and every fault of its form. */
export async function readPeople(io: Pick<Io, 'cwd' | 'stdin'>, name: string): Promise<PeopleFile> {
  const shown = name === '-' ? 'standard input' : name;
  const [head, ...rows] = await rowsOf(shown, await textOf(io, name, shown));
  if (head === undefined)
    throw new CommandFailed(`${shown} is empty: its first line names the columns, such as email,roles.`);
  const issues: Issue[] = [];
  const columns = columnsOf(head, issues);
  const people = rows.map(({ cells, line }) => {
    if (cells.length > head.cells.length)
      issues.push({
        path: '',
        message: `has ${cells.length} cells, and the head ${head.cells.length}`,
        line,
        column: 1,
      });
    const person = personOf(columns, cells);
    if (person.email === '') issues.push({ path: 'email', message: 'is missing', line, column: 1 });
    return { person, line };
  });
  issues.push(...repeated(people));
  if (issues.length > 0) throw faulty(shown, issues);
  return { name: shown, people };
}

function repeated(people: PeopleFile['people']): Issue[] {
  const first = new Map<string, number>();
  return people.flatMap(({ person: { email }, line }) => {
    const address = lowerAscii(email);
    const earlier = first.get(address);
    if (earlier === undefined) first.set(address, line);
    if (earlier === undefined || address === '') return [];
    return [{ path: 'email', message: `${address} is in line ${earlier} already`, line, column: 1 }];
  });
}

function columnsOf({ cells, line }: Row, issues: Issue[]): (Column | null)[] {
  const seen = new Set<string>();
  const columns = cells.map((cell) => {
    const name = cell.trim();
    const column = PEOPLE_COLUMNS.find((one) => one === name) ?? null;
    const known = `one of ${PEOPLE_COLUMNS.join(', ')}`;
    if (column === null)
      issues.push({ path: '', message: `${JSON.stringify(name)} is not a column: ${known}`, line, column: 1 });
    else if (seen.has(name)) issues.push({ path: '', message: `the column ${name} is there twice`, line, column: 1 });
    seen.add(name);
    return column;
  });
  if (!seen.has('email')) issues.push({ path: '', message: 'the column email is missing', line, column: 1 });
  return columns;
}

function personOf(columns: readonly (Column | null)[], cells: readonly string[]): Person {
  const person: Person = { email: '' };
  columns.forEach((column, at) => {
    const text = cells[at]?.trim() ?? '';
    if (column === null || text === '') return;
    if (column === 'roles') person.roles = text.split(/\s+/);
    else person[column] = text;
  });
  return person;
}

/** Rejects with the place at which a text stops to be CSV. */
async function rowsOf(name: string, text: string): Promise<Row[]> {
  const { CsvError, parse } = await import('csv-parse/sync');
  try {
    // What `info` adds is not in the types of the package.
    // The package counts a line break of two characters inside of quotes twice.
    const records = parse(text.replaceAll('\r\n', '\n'), {
      bom: true,
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
    }) as unknown as { record: string[]; info: { lines: number } }[];
    // A record is told by its last line.
    return records.map(({ record, info }) => ({ cells: record, line: info.lines - breaksIn(record) }));
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw new CommandFailed(`${name} is not CSV: ${error.message}.`, { code: 'VALIDATION_FAILED' });
  }
}

function breaksIn(cells: readonly string[]): number {
  return cells.reduce((sum, cell) => sum + cell.split(/[\r\n]/).length - 1, 0);
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

async function textOf({ cwd, stdin }: Pick<Io, 'cwd' | 'stdin'>, name: string, shown: string): Promise<string> {
  try {
    if (name !== '-') return UTF8.decode(await readFile(resolve(cwd, name)));
    const chunks: Uint8Array[] = [];
    for await (const chunk of stdin)
      chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Uint8Array));
    return UTF8.decode(Buffer.concat(chunks));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw new CommandFailed(`${shown} is not UTF-8: save it as UTF-8.`, { code: 'VALIDATION_FAILED' });
    throw new CommandFailed(`${shown} ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}.`);
  }
}
