import { readFileSync } from 'node:fs';
import { binary, type Facts, granted } from './point.ts';

/**
 * The scenarios of the AuthZEN interoperability events: their accounts, and their policies in Usher's words. What a policy computes
 * from attributes (an owner, a department) stands here as overrides.
 */

/** A published case (published/README.md). */
export interface Case {
  request: Record<string, unknown>;
  expected: unknown;
}

export function publishedCases(name: string): Case[] {
  const text = readFileSync(new URL(`published/${name}.jsonl`, import.meta.url), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Case);
}

// ---- the todo application, and the API gateway before it ----

const RICK = 'rick@the-citadel.com';
const MORTY = 'morty@the-citadel.com';
const SUMMER = 'summer@the-smiths.com';
const BETH = 'beth@the-smiths.com';
const JERRY = 'jerry@the-smiths.com';

interface Resident {
  readonly roles: string[];
  /** The `sub` of their account at the scenario's provider. */
  readonly sub: string;
  /** The todo that is theirs. */
  readonly todo: string;
}

export const RESIDENTS: Record<string, Resident> = {
  [RICK]: {
    roles: ['admin', 'evil_genius'],
    sub: 'CiRmZDA2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs',
    todo: '7240d0db-8ff0-41ec-98b2-34a096273b92',
  },
  [MORTY]: {
    roles: ['editor'],
    sub: 'CiRmZDE2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs',
    todo: '7240d0db-8ff0-41ec-98b2-34a096273b91',
  },
  [SUMMER]: {
    roles: ['editor'],
    sub: 'CiRmZDI2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs',
    todo: '7240d0db-8ff0-41ec-98b2-34a096273b93',
  },
  [BETH]: {
    roles: ['viewer'],
    sub: 'CiRmZDM2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs',
    todo: '7240d0db-8ff0-41ec-98b2-34a096273b94',
  },
  [JERRY]: {
    roles: ['viewer'],
    sub: 'CiRmZDQ2MTRkMy1jMzlhLTQ3ODEtYjdiZC04Yjk2ZjVhNTEwMGQSBWxvY2Fs',
    todo: '7240d0db-8ff0-41ec-98b2-34a096273b95',
  },
};

const may = (...codes: string[]) => Object.fromEntries(codes.map((code) => [code, 'allowed']));
const VIEWER = ['can_read_user', 'can_read_todos'];
const EDITOR = [...VIEWER, 'can_create_todo'];
const isViewer = ({ roles }: Resident) => roles.includes('viewer');

export const TODO: Facts = {
  application: { code: 'todo', name: 'Todo' },
  permissions: binary(...EDITOR, 'can_update_todo', 'can_delete_todo'),
  roles: [
    { code: 'viewer', permissions: may(...VIEWER) },
    { code: 'editor', permissions: may(...EDITOR) },
    { code: 'admin', permissions: may(...EDITOR, 'can_delete_todo') },
    { code: 'evil_genius', permissions: may(...EDITOR, 'can_update_todo') },
  ],
  assignments: Object.entries(RESIDENTS).map(([email, { roles }]) => ({ email, roles })),
  // Whoever is more than a viewer owns what they made.
  overrides: Object.entries(RESIDENTS).flatMap(([email, one]) =>
    isViewer(one) ? [] : ['can_update_todo', 'can_delete_todo'].map((code) => granted(email, code, 'todo', one.todo)),
  ),
};

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'];

/** Methods as permissions. Viewers read, everybody else does everything. */
export const GATEWAY: Facts = {
  application: { code: 'gateway', name: 'API gateway' },
  permissions: binary(...METHODS),
  roles: [
    { code: 'viewer', permissions: may('GET') },
    { code: 'editor', permissions: may(...METHODS) },
  ],
  assignments: Object.entries(RESIDENTS).map(([email, one]) => ({
    email,
    roles: [isViewer(one) ? 'viewer' : 'editor'],
  })),
};

// ---- records that people search, and what an identity provider puts into a token about them ----

const PEOPLE = {
  alice: { role: 'manager', department: 'Sales' },
  bob: { role: 'employee', department: 'Legal' },
  carol: { role: 'contractor', department: 'Legal' },
  dan: { role: 'manager', department: 'Finance' },
  erin: { role: 'employee', department: 'Finance' },
  felix: { role: 'contractor', department: 'Accounting' },
} as const;
type Person = keyof typeof PEOPLE;
export const NAMES = Object.keys(PEOPLE) as Person[];
const emailOf = (person: Person) => `${person}@example.com`;

const DEPARTMENTS: Record<string, string[]> = {
  Legal: ['101', '102', '103', '105', '108', '112', '116', '117', '119'],
  Accounting: ['104', '106', '109', '111', '114', '118', '120'],
  Sales: ['107', '110', '113'],
  Finance: ['115'],
};
export const RECORDS = Array.from({ length: 20 }, (_, index) => `${101 + index}`);

function actionsOf(person: Person, record: string): string[] {
  const { role, department } = PEOPLE[person];
  const isOwner = RECORDS.indexOf(record) % NAMES.length === NAMES.indexOf(person);
  const isManager = role === 'manager';
  const isColleague = DEPARTMENTS[department]?.includes(record) === true;
  return [
    ...(isOwner || isManager || isColleague ? ['view'] : []),
    ...(isOwner || (isManager && isColleague) ? ['edit'] : []),
    ...(isOwner ? ['delete'] : []),
  ];
}

/** The scenario of the identity provider asks a part of the same. */
export const SEARCH: Facts = {
  application: { code: 'search', name: 'Search' },
  permissions: binary('view', 'edit', 'delete'),
  overrides: NAMES.flatMap((person) =>
    RECORDS.flatMap((record) =>
      actionsOf(person, record).map((code) => granted(emailOf(person), code, 'record', record)),
    ),
  ),
};

/** The accounts of all scenarios. */
export const ACCOUNTS: [email: string, sub: string][] = [
  ...Object.entries(RESIDENTS).map(([email, { sub }]): [string, string] => [email, sub]),
  ...NAMES.map((person): [string, string] => [emailOf(person), person]),
];
