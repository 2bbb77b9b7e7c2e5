/** The lists of subjects and of resources over REST (docs/reference/lists.md). */

import { z } from 'zod';
import { unknownApplication } from '../../administration/records.ts';
import { isSlug } from '../../base/grammar.ts';
import { LEVEL_NAMES, SOURCE_NAMES } from '../../base/level-names.ts';
import type { ResourcesPage, SubjectsPage } from '../../engine/lists.ts';
import type { PageSize, PermissionEngine } from '../../rpc/call.ts';
import { RESOURCES_PAGE, SUBJECTS_PAGE } from '../../rpc/lists.ts';
import { RPCS } from '../../rpc/methods.ts';
import type { Paged } from '../route/paging.ts';
import { record } from '../route/record.ts';
import { type Answer, answer } from '../route/route.ts';
import type { Services } from '../services.ts';
import { type Asking, callOf, withRevision } from './ask.ts';
import {
  accessLevel,
  askedLevel,
  grantingSource,
  heldOnly,
  levelField,
  permissionField,
  resourceFields,
} from './fields.ts';

function pageFields({ most, usual }: PageSize, what: string) {
  return {
    limit: z
      .int()
      .min(1)
      .max(most)
      .nullish()
      .meta({
        description: `The most ${what} of a page, 1 to ${most}; by default ${usual}. A page may hold fewer: only \`nextCursor: null\` ends the list.`,
      }),
    cursor: z
      .string()
      .min(1, 'must not be empty')
      .nullish()
      .meta({ description: 'The `nextCursor` of the previous page, with the same question.' }),
  };
}

/** Fields of ListSubjects: who holds a permission? */
export const subjectsFields = {
  permission: permissionField,
  ...resourceFields,
  accessLevel: levelField,
  ...pageFields(SUBJECTS_PAGE, 'people'),
};

/** Fields of ListResources: which records can a user reach? */
export const resourcesFields = {
  permission: permissionField,
  resourceType: z.string().min(1, 'must not be empty').meta({ description: 'The type of the records.' }),
  accessLevel: levelField,
  ...pageFields(RESOURCES_PAGE, 'identifiers'),
};

const SubjectsBody = z.strictObject(subjectsFields);
const ResourcesBody = z.strictObject(resourcesFields);

export const Subjects = z.object({
  subjects: z.array(
    record('AllowedSubject', {
      email: z.string(),
      accessLevel,
      source: grantingSource.meta({ description: 'The rule that allows it.' }),
    }),
  ),
});

export const resourcesAnswer = {
  scope: z.enum(['all', 'only']).meta({
    description:
      '`all`: every record of the type except those listed, including records unknown to Usher. `only`: those listed.',
  }),
  resourceIds: z.array(z.string()),
};
export const Resources = z.object(resourcesAnswer);

type SubjectsAnswer = Paged<z.output<typeof Subjects>>;
type ResourcesAnswer = Paged<z.output<typeof Resources>>;

/** A page of the people whom a check of the same question allows. */
export async function askSubjects(
  engine: PermissionEngine,
  { limit, cursor, accessLevel, resourceType, resourceId, ...body }: z.output<typeof SubjectsBody> & { app: string },
  asking: Asking,
): Promise<{ page: SubjectsPage; answer: Answer<SubjectsAnswer> }> {
  const fields = {
    ...body,
    resourceType: resourceType ?? '',
    resourceId: resourceId ?? '',
    accessLevel: askedLevel(accessLevel),
    pageSize: limit ?? 0,
    pageToken: cursor ?? '',
  };
  const page = await RPCS.listSubjects.ask(engine, withRevision(fields, asking), callOf(asking));
  const subjects = page.subjects.map(({ email, decision: { level, source } }) => {
    return { email, accessLevel: heldOnly(LEVEL_NAMES[level]), source: heldOnly(SOURCE_NAMES[source]) };
  });
  return { page, answer: answer({ data: { subjects }, nextCursor: cursorOf(page) }, { revision: page.revision }) };
}

/** A page of the records that a check of the same question allows, or of the exceptions to all. */
export async function askResources(
  engine: PermissionEngine,
  { limit, cursor, accessLevel, ...body }: z.output<typeof ResourcesBody> & { email: string; app: string },
  asking: Asking,
): Promise<{ page: ResourcesPage; answer: Answer<ResourcesAnswer> }> {
  const fields = {
    ...body,
    accessLevel: askedLevel(accessLevel),
    pageSize: limit ?? 0,
    pageToken: cursor ?? '',
  };
  const page = await RPCS.listResources.ask(engine, withRevision(fields, asking), callOf(asking));
  const data = { scope: page.allExcept ? ('all' as const) : ('only' as const), resourceIds: [...page.resourceIds] };
  return { page, answer: answer({ data, nextCursor: cursorOf(page) }, { revision: page.revision }) };
}

function cursorOf({ next }: { next: string }): string | null {
  return next === '' ? null : next;
}

/** What is read of an administrator's question, beside the question. */
interface AdministratorsInput {
  readonly params: { readonly appCode: string };
  readonly caller: { readonly email: string };
  readonly signal: AbortSignal;
}

/** An administrator's answer: 404 for an unknown application, which the guard only lets SuperAdmins ask about. */
export async function ofKnownApplication<T>(
  engine: Pick<Services['engine'], 'member'>,
  { params: { appCode: app }, caller, signal }: AdministratorsInput,
  ask: (app: string) => Promise<{ page: { applicationKnown: boolean | null }; answer: T }>,
): Promise<T> {
  if (!isSlug(app)) throw unknownApplication(app);
  const { page, answer: found } = await ask(app);
  const isKnown = page.applicationKnown ?? (await engine.member(app, caller.email, { signal })).member.appId !== null;
  if (!isKnown) throw unknownApplication(app);
  return found;
}
