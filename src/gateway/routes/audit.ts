/** Who changed what (docs/reference/administration.md#audit). */

import { z } from 'zod';
import type { AuditFilter } from '../../administration/audit-log.ts';
import { normalizeEmail } from '../../base/grammar.ts';
import { AppParams, applicationCode, email, id, search, text, timestamp } from '../route/fields.ts';
import { applicationLevel, superAdmin } from '../route/guards.ts';
import { paged, pagedData, pageOf, pageParams, pageSchema } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { defineRoute, type Route } from '../route/route.ts';

const AuditRecord = record('AuditRecord', {
  id,
  at: timestamp,
  actor: z.string().meta({ description: '`user:<email>`, `key:<name>`, `idp`, `cli` or `system`.' }),
  action: z.string().meta({ description: '`<thing>.<verb>`; ends in `.refused` for a refused write.' }),
  appCode: z.string().nullable(),
  subject: z.string().nullable().meta({ description: 'The person or record that was changed.' }),
  before: z.unknown().meta({ description: 'The state before; null for a creation. Secrets are masked.' }),
  after: z.unknown().meta({ description: 'The state after; null for a deletion.' }),
  requestId: z.string().nullable(),
  reason: z.string().nullable().meta({ description: 'Why, in the words of the author (`usher-reason`).' }),
});

const moment = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
const filled = (max: number) => text(max).refine((value) => value !== '', 'must not be empty');
const Filters = {
  actor: filled(300).optional().meta({ description: 'As in records; an e-mail address means that user.' }),
  subject: filled(300).optional(),
  action: filled(300).optional(),
  person: email.optional().meta({ description: 'Records about or by the user of this address.' }),
  actionPrefix: filled(300).optional().meta({ description: 'The beginning of the action, such as `role.`.' }),
  q: search.meta({
    description:
      'Text anywhere in a record, taken literally and ignoring case; in `before` and `after` as JSON writes it. A page may hold fewer records than its limit, even none.',
  }),
  from: moment.optional().meta({ description: 'At this moment or later.' }),
  to: moment.optional().meta({ description: 'At this moment or earlier.' }),
};

/** Addresses in the form of the stored records. */
function filterOf({ q, ...query }: Omit<AuditFilter, 'search'> & { q: string | null }): AuditFilter {
  const { actor, subject } = query;
  const address = actor === undefined ? null : normalizeEmail(actor);
  return {
    ...query,
    actor: address === null || actor?.includes(':') ? actor : `user:${address}`,
    subject: subject === undefined ? undefined : (normalizeEmail(subject) ?? subject),
    search: q ?? undefined,
  };
}

const readAudit = defineRoute({
  method: 'get',
  path: '/api/admin/audit',
  operation: 'listAudit',
  tag: 'Audit',
  summary: 'All records, the newest first',
  guard: superAdmin,
  query: z.strictObject({ ...pageParams('audit'), appCode: applicationCode.optional(), ...Filters }),
  envelope: pagedData,
  response: pageSchema(AuditRecord),
  handle: async ({ auditLog }, { query }) => {
    const { limit, cursor, ...filter } = query;
    return paged('audit', await auditLog.read(filterOf(filter), pageOf({ limit, cursor })), (row) => row);
  },
});

const readApplicationAudit = defineRoute({
  method: 'get',
  path: '/api/applications/:appCode/audit',
  operation: 'listApplicationAudit',
  tag: 'Audit',
  summary: 'The records of an application, the newest first',
  guard: applicationLevel('view'),
  params: AppParams,
  query: z.strictObject({ ...pageParams('application-audit'), ...Filters }),
  envelope: pagedData,
  response: pageSchema(AuditRecord),
  errors: ['NOT_FOUND'],
  handle: async ({ auditLog }, { params, query }) => {
    const { limit, cursor, ...filter } = query;
    const page = await auditLog.ofApplication(params.appCode, filterOf(filter), pageOf({ limit, cursor }));
    return paged('application-audit', page, (row) => row);
  },
});

export const auditRoutes: readonly Route[] = [readAudit, readApplicationAudit];
