/** What is read of a service that holds much, by route, with the pages of 8 kB that its statements may touch. */
import { appCode, email, firstRole } from '../../bench/large-registry.ts';

/** A SuperAdmin; one who administers twenty applications, `big` among them; somebody with a thousand notifications and events. */
export const ROOT = 'admin@example.com';
export const ADMINISTRATOR = email(3);
export const READER = email(10);
/** Of which everybody is, and one with a few people. */
const BIG = appCode(1);
export const SMALL = 7;
const SOMEBODY = email(77);
/** One that everybody has by a role, and one that nobody has so. */
const HELD = 'thing3.use';
const NOT_HELD = 'thing2.use';

export interface ListCall {
  route: string;
  path: string;
  /** Null: a backend, with its key. */
  as: string | null;
  body?: unknown;
  /** Pages that its statements may touch. */
  most: number;
}

/** A page of fifty, each found by an index and with what is looked up beside it. */
const PAGE = 1000;
/** Where thousands are looked at for a page; in the order of logins, each with all that they have. */
const EXAMINED = 15_000;
const LOGINS = 60_000;
/** In the order of creation, each with the window of a role, which stands in the row alone. */
const WITH_WINDOWS = 20_000;
/** The records of one person with hundreds of overrides, each with its window. */
const OF_ONE = 1500;
/** Where everybody of `big` is counted: the indexes of four tables. */
const COUNTED = 4000;

const by =
  (as: string | null) =>
  (route: string, query = '', most = PAGE): ListCall => {
    const [, path = ''] = route.split(' ');
    const named = path
      .replace(':email', SOMEBODY)
      .replace(':appCode', BIG)
      .replace(':roleId', String(firstRole(1)));
    return { route, path: named + query, as, most };
  };
const root = by(ROOT);
const administrator = by(ADMINISTRATOR);
const reader = by(READER);
/** Of another record than those that paths name otherwise. */
const at = (route: string, path: string, most = PAGE): ListCall => ({ route, path, as: ROOT, most });
const ask = (call: ListCall, body: unknown): ListCall => ({ ...call, body });

const PEOPLE = ['', 'q=novak', 'active=false', 'orphan=true', `appCode=${BIG}`];
const RARE = [`q=${SOMEBODY}`, 'q=zzz'];
const users = ['', 'sort=email', 'sort=createdAt', 'sort=lastLoginAt'].flatMap((order) =>
  [...PEOPLE, ...RARE, `appCode=${BIG}&role=role1`, `appCode=${BIG}&permission=${HELD}`].flatMap((filter) => {
    const query = `?${[filter, order].filter((part) => part !== '').join('&')}`;
    const usual = order === 'sort=lastLoginAt' ? LOGINS : filter.includes('role=') ? WITH_WINDOWS : EXAMINED;
    const most = RARE.includes(filter) ? PAGE : usual;
    return [root('GET /api/users', query, most), administrator('GET /api/users', query, most)];
  }),
);
const searches = ['novak', SOMEBODY, 'zzz', 'thing2', 'app77'].flatMap((text) => {
  // Each application has the second last, and many people the first.
  const most = ['novak', 'thing2'].includes(text) ? EXAMINED : PAGE;
  return [root('GET /api/search', `?q=${text}`, most), administrator('GET /api/search', `?q=${text}`, most)];
});
const applications = ['', '&sort=name', '&sort=updatedAt', '&q=app77'].map((query) =>
  root('GET /api/applications', `?limit=50${query}`, COUNTED),
);

const SENDS = [
  '',
  '?status=failed',
  '?status=sent',
  '?status=queued',
  '?type=generic',
  '?type=rare',
  `?email=${READER}`,
];
const sends = SENDS.flatMap((query) => [
  // One that is hardly ever sent is looked for in each application and partition.
  root('GET /api/admin/notifications', query, query === '?type=rare' ? EXAMINED : PAGE),
  administrator('GET /api/admin/notifications', query),
  administrator('GET /api/applications/:appCode/notifications', query),
]);
const RECORDS = [
  '',
  '?actor=admin7@example.com',
  `?subject=${SOMEBODY}`,
  `?person=${SOMEBODY}`,
  '?action=role.created',
  '?actionPrefix=role.deleted',
  '?q=nobody-has-it',
  '?from=2026-01-01T00:00:00Z&actionPrefix=override.',
];
const audits = RECORDS.flatMap((query) => {
  const most = query.startsWith('?q=') ? EXAMINED : PAGE;
  return [
    root('GET /api/admin/audit', query, most),
    root('GET /api/admin/audit', `${query === '' ? '?' : `${query}&`}appCode=${BIG}`, most),
    administrator('GET /api/applications/:appCode/audit', query, most),
  ];
});
const OVERRIDES = ['', '?resourceType=document', '?resourceType=document&resourceId=77', `?email=${SOMEBODY}`];
const overrides = [...OVERRIDES, `?permission=${HELD}`].map((query) =>
  administrator('GET /api/applications/:appCode/overrides', query),
);
const inbox = ['', '?unreadOnly=true', `?appCode=${BIG}`].map((query) =>
  reader('GET /api/profile/me/notifications/inbox', query),
);

const subjects = { permission: HELD, resourceType: 'document', resourceId: '77' };
const resources = { permission: HELD, resourceType: 'document' };
const action = { name: HELD };
const record = { type: 'document', id: '77' };
const user = { type: 'user', id: SOMEBODY };
const questions: readonly ListCall[] = [
  ask({ ...at('POST /api/check/subjects', '/api/check/subjects'), as: null }, { app: BIG, ...subjects }),
  ask(
    { ...at('POST /api/check/resources', '/api/check/resources', OF_ONE), as: null },
    { app: BIG, email: SOMEBODY, ...resources },
  ),
  ask(reader('POST /api/profile/me/check/resources', '', OF_ONE), { app: BIG, ...resources }),
  ask(administrator('POST /api/applications/:appCode/subjects', ''), subjects),
  ask(administrator('POST /api/applications/:appCode/resources', '', OF_ONE), { email: SOMEBODY, ...resources }),
  ask(
    { ...root('POST /authzen/:appCode/access/v1/search/subject', ''), as: null },
    { subject: { type: 'user' }, action, resource: record },
  ),
  // What is held by override alone: of what a role gives, all records but some are reached.
  ask(
    { ...root('POST /authzen/:appCode/access/v1/search/resource', '', OF_ONE), as: null },
    { subject: user, action: { name: NOT_HELD }, resource: { type: 'document' } },
  ),
  ask({ ...root('POST /authzen/:appCode/access/v1/search/action'), as: null }, { subject: user, resource: record }),
];

export const CALLS: readonly ListCall[] = [
  ...users,
  ...searches,
  ...applications,
  ...sends,
  ...audits,
  ...overrides,
  ...inbox,
  ...questions,
  root('GET /api/users/:email'),
  root('GET /api/profile/:email'),
  root('GET /api/users/:email/access', '', OF_ONE),
  reader('GET /api/profile/me/access', '', OF_ONE),
  root('GET /api/users/:email/export'),
  // With the body of every notification, and all of its deliveries.
  reader('GET /api/profile/me/export', '', EXAMINED),
  // What a person has is compared, and each row that goes later is counted.
  ask(root('POST /api/users/:email/offboard', '?dryRun=true', COUNTED), {}),
  at('POST /api/users/:email/erase', `/api/users/${READER}/erase?dryRun=true`, EXAMINED),
  root('GET /api/users/:email/apps/:appCode/roles'),
  root('GET /api/users/:email/apps/:appCode/resources'),
  at(
    'GET /api/users/:email/apps/:appCode/resources/:resourceType/:resourceId/permissions',
    `/api/users/${SOMEBODY}/apps/${BIG}/resources/document/77/permissions`,
  ),
  root('GET /api/users/:email/apps/:appCode/preferences'),
  at('GET /api/users/:email/apps/:appCode/events', `/api/users/${READER}/apps/${appCode(SMALL)}/events`),
  root('GET /api/users/admins/apps/:appCode'),
  root('GET /api/users/admins/super'),
  reader('GET /api/profile/me'),
  reader('GET /api/profile/me/admin-status'),
  administrator('GET /api/profile/me/admin-status'),
  reader('GET /api/profile/me/apps'),
  at('GET /api/profile/me/apps/:appCode', `/api/profile/me/apps/${BIG}`),
  reader('GET /api/profile/me/notifications/:appCode'),
  reader('GET /api/profile/me/notifications/inbox/unread-count'),
  reader('GET /api/profile/me/push/subscriptions'),
  administrator('GET /api/applications', '', COUNTED),
  root('GET /api/applications/:appCode'),
  at('GET /api/applications/:appCode/i18n/:locale', `/api/applications/${BIG}/i18n/en`),
  root('GET /api/applications/:appCode/entities'),
  root('GET /api/applications/:appCode/permissions'),
  root('GET /api/applications/:appCode/roles'),
  at(
    'GET /api/applications/:appCode/roles/:roleId/permissions',
    `/api/applications/${BIG}/roles/${firstRole(1)}/permissions`,
  ),
  root('GET /api/applications/:appCode/roles/:roleId/users'),
  // Holders of each role are counted.
  root('GET /api/applications/:appCode/matrix', '', COUNTED),
  // A file with the assignments of everybody is an export of a few people's application.
  at('GET /api/applications/:appCode/manifest', `/api/applications/${appCode(SMALL)}/manifest`, EXAMINED),
  root('GET /api/applications/:appCode/notification-types'),
  root('GET /api/applications/:appCode/templates'),
  root('GET /api/admin/overview', '', COUNTED),
  administrator('GET /api/admin/overview', '', COUNTED),
  // Every notification of a day with its deliveries.
  root('GET /api/admin/notifications/stats', '', EXAMINED),
  administrator('GET /api/admin/notifications/stats', '', EXAMINED),
  root('GET /api/admin/keys'),
  root('GET /api/admin/brands'),
  root('GET /api/brands'),
  root('GET /api/languages'),
  root('GET /api/idp/admin/events'),
  root('GET /api/idp/admin/mails'),
];

/** What is read of one record, of the provider, of memory, or as a stream. */
export const NO_LISTS: readonly string[] = [
  'GET /api/admin/brands/:id',
  'GET /api/admin/config',
  'GET /api/admin/stream',
  'GET /api/applications/:appCode/entities/:entityCode/items',
  'GET /api/applications/:appCode/notifications/:id',
  'GET /api/docs',
  'GET /api/gateway/:appCode/check',
  'GET /api/idp/admin/notification-provider',
  'GET /api/idp/admin/orgs',
  'GET /api/idp/callback',
  'GET /api/idp/discovery',
  'GET /api/idp/health',
  'GET /api/idp/login',
  'GET /api/manifest.schema.json',
  'GET /api/notifications/unsubscribe',
  'GET /api/openapi.json',
  'GET /api/profile/me/notifications/stream',
  'GET /api/profile/me/permissions/stream',
  'GET /api/profile/me/push/vapid-key',
];
