import { appCode, email, firstPermission, firstRole, ROLES } from '../../bench/large-registry.ts';
import type { Random } from '../../bench/random.ts';
import { overrideOf, roundOfAll } from './big-data.ts';
import type { BigSide } from './big-world.ts';

/** Something that is asked of both databases. */
export interface BigCall {
  name: string;
  /** How often; a few times by default. */
  times?: number;
  /** Pages that its statements may touch at any size: what it reads is bounded by something else than the number of rows. */
  bound?: number;
  /** What is done before, unmeasured; `call` is given what it answers. */
  prepare?: (side: BigSide, random: Random) => Promise<string>;
  call: (side: BigSide, random: Random, prepared: string) => Promise<unknown>;
}

const INBOX = '/api/profile/me/notifications/inbox';
const RECIPIENTS = 1000;
/** Every so many-th person has more than others. */
const FIFTH = 5;
/** The person with many: a user of that number. */
export const MANY = email(1);

const someone = (side: BigSide, random: Random): string => email(1 + random.below(side.numbers.people));
const application = (side: BigSide, random: Random): string => appCode(1 + random.below(side.numbers.applications));

/** Somebody who has called before: the first call of all makes a profile. */
async function reader(side: BigSide, random: Random): Promise<string> {
  let as = someone(side, random);
  // One in fifty is blocked or removed.
  for (;;) {
    try {
      await side.ask('GET', `${INBOX}/unread-count`, { as });
      return as;
    } catch (error) {
      if (!String(error).includes(' 403')) throw error;
      as = someone(side, random);
    }
  }
}

const get = (name: string, path: (side: BigSide, random: Random) => string): BigCall => ({
  name,
  call: (side, random) => side.ask('GET', path(side, random)),
});

/** What people, backends and workers do all day. */
export const INBOX_CALLS: readonly BigCall[] = [
  { name: 'inbox, first page', times: 60, prepare: reader, call: (side, _, as) => side.ask('GET', INBOX, { as }) },
  {
    name: 'inbox, unread, first page',
    times: 60,
    prepare: reader,
    call: (side, _, as) => side.ask('GET', `${INBOX}?unreadOnly=true`, { as }),
  },
  {
    name: 'unread count',
    times: 60,
    prepare: reader,
    call: (side, _, as) => side.ask('GET', `${INBOX}/unread-count`, { as }),
  },
  {
    name: 'unread count of 10,000 notifications',
    call: (side) => side.ask('GET', `${INBOX}/unread-count`, { as: MANY }),
  },
  {
    name: 'one notification read',
    prepare: async (side, random) => {
      for (;;) {
        const as = await reader(side, random);
        const { response } = await side.ask<{ response: { id: number }[] }>('GET', `${INBOX}?unreadOnly=true`, { as });
        const first = response[0];
        if (first !== undefined) return `${first.id} ${as}`;
      }
    },
    call: (side, _, prepared) => {
      const [id, as = ''] = prepared.split(' ');
      return side.ask('PATCH', `${INBOX}/${id}/read`, { as });
    },
  },
  {
    name: 'all notifications read',
    prepare: reader,
    call: (side, _, as) => side.ask('POST', `${INBOX}/read-all`, { as }),
  },
  {
    name: 'a send to 1,000',
    call: (side, random) => {
      const recipients = [...new Set(Array.from({ length: RECIPIENTS }, () => someone(side, random)))];
      const body = { appCode: appCode(1), recipients, subject: 'News', body: 'They are here.' };
      return side.ask('POST', '/api/internal/notifications', { as: null, body });
    },
  },
];

/** What administrators look at and change. */
export const ADMINISTRATOR_CALLS: readonly BigCall[] = [
  get('list of users', () => '/api/users'),
  get('list of users, newest first', () => '/api/users?sort=createdAt'),
  get('list of users of the application that all are of', () => '/api/users?appCode=big'),
  get('search of users, one found', (side, random) => `/api/users?q=${encodeURIComponent(someone(side, random))}`),
  get('search of users, many found', () => '/api/users?q=novak'),
  get('search of everything', () => '/api/search?q=novak'),
  get('a user', (side, random) => `/api/users/${someone(side, random)}`),
  get('access of a user', (side, random) => `/api/users/${someone(side, random)}/access`),
  // Two hundred overrides of each application.
  { ...get('access of the user with 10,000 overrides', () => `/api/users/${MANY}/access`), bound: 50_000 },
  {
    name: 'overrides of a user',
    call: (side, random) => {
      const p = 1 + random.below(side.numbers.people);
      const { application: a } = overrideOf(side.numbers, p, roundOfAll(side.numbers, 3));
      return side.ask('GET', `/api/users/${email(p)}/apps/${appCode(a)}/resources`);
    },
  },
  get('overrides of an application', (side, random) => `/api/applications/${application(side, random)}/overrides`),
  get('list of applications', () => '/api/applications?limit=50'),
  get('an application', (side, random) => `/api/applications/${application(side, random)}`),
  // The sends of a day.
  { ...get('overview', () => '/api/admin/overview'), bound: 400_000 },
  get('sends of all applications', () => '/api/admin/notifications'),
  get('sends of all applications, failed', () => '/api/admin/notifications?status=failed'),
  // A hundred thousand notifications with their deliveries.
  { ...get('outcomes of deliveries', () => '/api/admin/notifications/stats'), bound: 800_000 },
  get(
    'send log of an application',
    (side, random) => `/api/applications/${application(side, random)}/notifications?status=failed`,
  ),
  get('audit of an application', (side, random) => `/api/admin/audit?appCode=${application(side, random)}`),
  {
    name: 'who can: subjects of a resource',
    call: (side, random) => {
      const p = 1 + random.below(side.numbers.people);
      const { application: a, isGranted: _, ...question } = overrideOf(side.numbers, p, roundOfAll(side.numbers, 3));
      return side.ask('POST', '/api/check/subjects', { as: null, body: { app: appCode(a), ...question } });
    },
  },
  {
    name: 'what can: resources of a person',
    call: (side, random) => {
      const p = 1 + random.below(side.numbers.people);
      const { application: a, permission, resourceType } = overrideOf(side.numbers, p, roundOfAll(side.numbers, 3));
      const body = { app: appCode(a), email: email(p), permission, resourceType };
      return side.ask('POST', '/api/check/resources', { as: null, body });
    },
  },
  {
    name: 'roles of a user, replaced',
    call: (side, random) =>
      side.ask('PUT', `/api/users/${someone(side, random)}/apps/big/roles`, {
        body: { roleIds: [firstRole(1), firstRole(1) + 1 + random.below(ROLES - 1)] },
      }),
  },
  {
    name: 'an override, replaced',
    call: (side, random) =>
      side.ask(
        'PUT',
        `/api/users/${someone(side, random)}/apps/big/resources/document/n${random.below(1_000_000)}/permissions`,
        { body: { permissions: [{ permissionId: firstPermission(1), granted: true }] } },
      ),
  },
];

/** Of a person who has what many have, or the most. */
const dataOf = (name: string, who: (side: BigSide, random: Random) => string): BigCall[] => [
  {
    name: `export of ${name}`,
    times: 1,
    call: (side, random) => side.ask('GET', `/api/users/${who(side, random)}/export`),
  },
  {
    name: `rehearsal of the erasure of ${name}`,
    times: 1,
    call: (side, random) => side.ask('POST', `/api/users/${who(side, random)}/erase?dryRun=true`),
  },
];
const erasureOf = (name: string, who: (side: BigSide, random: Random) => string): BigCall => ({
  name: `erasure of ${name}`,
  times: 1,
  call: (side, random) => side.ask('POST', `/api/users/${who(side, random)}/erase`),
});
const oneOfMany = (side: BigSide, random: Random): string =>
  email(FIFTH * (1 + random.below(side.numbers.people / FIFTH)));

/** Once each. */
export const PERSONAL_CALLS: readonly BigCall[] = [
  ...dataOf('one of many', oneOfMany),
  erasureOf('one of many', oneOfMany),
  ...dataOf('the one with 10,000', () => MANY),
];
/** There is only one of them. */
export const LAST_CALL = erasureOf('the one with 10,000', () => MANY);
