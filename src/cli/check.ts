import type { Command } from 'commander';
import { type Context, print } from './io.ts';
import { askAbout, type Held, readResource, reasonOf } from './questions.ts';
import { asksService, openService, type Service, type ServiceOptions } from './service.ts';

interface Options extends ServiceOptions {
  resource?: string;
  level?: string;
}

interface Explained {
  allowed: boolean;
  /** What is held; null when nothing is. */
  accessLevel: Held['accessLevel'];
  source: Held['source'];
  reason: string;
  revision: string | null;
}

/** `usher check EMAIL APP PERMISSION`: one decision, with its reason. */
export function defineCheck(program: Command, context: Context): void {
  asksService(program.command('check <email> <app> <permission>'))
    .summary('ask whether somebody holds a permission, and why')
    .description(
      'Asks a running service whether somebody holds a permission, and says why.\n\nAn answer is a success, also when it is a denial; with --json `allowed` says which.',
    )
    .option('--resource <type:id>', 'for one record, for example project:1042')
    .option('--level <level>', 'the level that is needed: view or edit')
    .action(async (email: string, app: string, permission: string, _: Options, command: Command) => {
      const options = command.optsWithGlobals<Options>();
      const resource = readResource(options.resource);
      const service = await openService(context.io, options);
      const subject = { email, app, ...resource };
      const answer = await explain(service, subject, permission, options.level);
      const what = `${permission} in ${app}${options.resource === undefined ? '' : ` for ${options.resource}`}`;
      const verdict = answer.allowed ? 'allowed' : 'denied';
      print(context, options, { ...subject, permission, ...answer }, `${verdict}: ${email}, ${what}: ${answer.reason}`);
    });
}

/** The decision of the check itself; its reason from the list of what is held, at the same revision. */
async function explain(
  service: Service,
  subject: { email: string; app: string },
  permission: string,
  level: string | undefined,
): Promise<Explained> {
  for (let tries = 1; ; tries++) {
    const question = { ...subject, permission, ...(level === undefined ? {} : { accessLevel: level }) };
    const check = await askAbout(service, 'check', question);
    const list = await askAbout(service, 'effective', subject, check.revision ?? undefined);
    // A change came between the two: both are asked again, so that the reason is that of the answer.
    if (list.revision !== check.revision && tries < 5) continue;
    const { allowed } = check.payload as { allowed: boolean };
    const items = list.payload as readonly Held[];
    const rules = allowed && items.length === 0 ? await everywhere(service, subject.email) : items;
    return { allowed, ...describe(allowed, items, rules, { ...subject, permission, level }), revision: check.revision };
  }
}

/** What somebody holds in `auth`, which always has permissions: where an application has none, it tells a SuperAdmin from its own. */
async function everywhere(service: Service, email: string): Promise<readonly Held[]> {
  return (await askAbout(service, 'effective', { email, app: 'auth' })).payload as readonly Held[];
}

function describe(
  allowed: boolean,
  items: readonly Held[],
  rules: readonly Held[],
  { app, permission, level }: { app: string; permission: string; level: string | undefined },
): Omit<Explained, 'allowed' | 'revision'> {
  const held = items.find(({ code }) => code === permission);
  if (held) {
    const short = held.granted && !allowed ? `, ${level} is needed` : '';
    return { accessLevel: held.accessLevel, source: held.source, reason: `${reasonOf(held)}${short}` };
  }
  const undefinedHere = `${app} defines no permission ${permission}`;
  if (!allowed) return { accessLevel: null, source: null, reason: undefinedHere };
  // Rules 2 and 3 allow what is not defined as well, each with its level (contract 3).
  const rule = rules.some(({ source }) => source === 'superadmin') ? SUPERADMIN : APP_ADMIN;
  return { ...rule, reason: `${reasonOf({ granted: true, ...rule })} (${undefinedHere})` };
}

const SUPERADMIN = { accessLevel: 'edit', source: 'superadmin' } as const;
const APP_ADMIN = { accessLevel: 'allowed', source: 'app_admin' } as const;
