import type { DescEnum } from '@bufbuild/protobuf';
import {
  AccessLevel,
  AccessLevelSchema,
  type DecisionSource,
  DecisionSourceSchema,
} from './gen/usher/permission/v1/permission_pb.ts';
import { type Failure, Usher } from './usher.ts';

const USAGE = 'usage: node main.ts [EMAIL APP PERMISSION[,PERMISSION...] [any|view|edit [TYPE:ID]]]';
const DEMO = ['ben@example.com', 'atelier', 'project.archive,project.access', 'any', 'project:1042'];
const LEVELS = new Map([
  ['any', AccessLevel.UNSPECIFIED],
  ['view', AccessLevel.VIEW],
  ['edit', AccessLevel.EDIT],
]);

const { permission, permissions, accessLevel, subject } = readQuestion(process.argv.slice(2));
const address = process.env.USHER_GRPC || 'localhost:50051';
const usher = new Usher({
  address,
  key: process.env.USHER_API_KEY,
  caFile: process.env.USHER_CA,
  deadlineMs: Number(process.env.USHER_DEADLINE_MS || 500),
});
try {
  await usher.ready(5_000);
  process.exitCode = (await ask()) ? 0 : 1;
} catch (error) {
  console.error(`no Usher at ${address}: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  usher.close();
}

/** Asks the three questions; false when one got no answer, or when two answers contradict each other. */
async function ask(): Promise<boolean> {
  const one = await usher.check({ ...subject, permission, accessLevel });
  show('check', permission, one.response.allowed, one.response, one.failure);

  // Read your writes: an answer to a question with min_revision is at least that fresh, whichever instance gives it.
  // Take the revision from an earlier answer, or from the header `usher-revision` of a write.
  const minRevision = one.response.revision;
  const many = await usher.bulkCheck({ ...subject, permissions, accessLevel, minRevision });
  const decisions = new Map(many.response.results.map((decision) => [decision.permission, decision]));
  for (const code of permissions) {
    // A permission without a decision is a denied one.
    const decision = decisions.get(code);
    show('bulk', code, decision?.allowed ?? false, decision, many.failure);
  }

  const all = await usher.effective({ ...subject, minRevision });
  for (const held of all.response.permissions) show('effective', held.code, held.granted, held);
  if (all.failure) show('effective', '*', false, undefined, all.failure);

  if (one.failure || many.failure || all.failure) return false;
  console.log(`revision ${all.response.revision}`);
  if (decisions.size !== permissions.length) {
    console.error(`${permissions.length} permissions asked, ${decisions.size} answered`);
    return false;
  }
  if (many.response.revision === minRevision && decisions.get(permission)?.allowed !== one.response.allowed) {
    console.error(`Check and BulkCheck disagree at revision ${minRevision}`);
    return false;
  }
  return true;
}

function readQuestion(args: string[]) {
  const [email, app, codes, levelName = 'any', resource = ''] = args.length > 0 ? args : DEMO;
  const level = LEVELS.get(levelName);
  const permissions = [...new Set(codes?.split(','))];
  const [permission] = permissions;
  if (!email || !app || !permission || level === undefined) {
    console.error(USAGE);
    process.exit(2);
  }
  // Only the first colon divides: identifiers may hold more of them.
  const [resourceType = '', ...id] = resource.split(':');
  const subject = { email, app, resourceType, resourceId: id.join(':') };
  return { permission, permissions, accessLevel: level, subject };
}

function show(
  method: string,
  code: string,
  granted: boolean,
  held?: { accessLevel: AccessLevel; source: DecisionSource },
  failure?: Failure | null,
): void {
  const why = failure
    ? `error=${failure.reason}`
    : `level=${name(AccessLevelSchema, held?.accessLevel)} source=${name(DecisionSourceSchema, held?.source)}`;
  console.log(`${method.padEnd(10)} ${code.padEnd(24)} ${granted ? 'allowed' : 'denied '} ${why}`);
  if (failure) console.error(`${method}: ${failure.message}`);
}

/** ACCESS_LEVEL_EDIT as `edit`; nothing held and no rule that granted as `none`. */
function name(schema: DescEnum, value = 0): string {
  if (value === 0) return 'none';
  // A newer service may know values that this program does not.
  return schema.value[value]?.name.slice(schema.sharedPrefix?.length).toLowerCase() ?? String(value);
}
