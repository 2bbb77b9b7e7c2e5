import type { Command } from 'commander';
import { reasonOption } from './flags.ts';
import { withExamples } from './help.ts';
import { type Context, print } from './io.ts';
import { addServiceOptions, openService, type ServiceOptions } from './service.ts';

/** `usher grant EMAIL APP ROLE`: adds one role to those that the person holds. */
export function defineGrant(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('grant <email> <app> <role>'))
    .summary('give a person a role')
    .description(
      'Gives a person one role in an application and keeps their other roles. When they hold it already, only a time that is given changes: without --from and --until it stays, and `none` clears it. The person need not have signed in before.',
    )
    .option('--from <time>', 'from when the role counts: ISO 8601 with a zone, or none')
    .option('--until <time>', 'from when on it no longer counts: ISO 8601 with a zone, or none')
    .addOption(reasonOption())
    .action(async (email: string, app: string, role: string, _: GrantOptions, self: Command) => {
      const options = self.optsWithGlobals<GrantOptions>();
      const service = await openService(context.io, options);
      const window = { ...bound('startsAt', options.from), ...bound('endsAt', options.until) };
      const { status, data } = await service.call('POST /api/users/{email}/apps/{appCode}/roles', {
        path: { email, appCode: app },
        body: { role, ...window },
      });
      const changed = status === 201;
      const { startsAt, endsAt } = data;
      const times = `${startsAt === null ? '' : ` from ${startsAt}`}${endsAt === null ? '' : ` until ${endsAt}`}`;
      const held = changed ? 'now holds' : 'already held';
      const text = `${email} ${held} ${role} in ${app}${times}.`;
      await print(context, options, { email, app, role, changed, startsAt, endsAt }, text);
    });
  withExamples(command, [
    'usher grant clara@example.com atelier accountant',
    'usher grant clara@example.com atelier accountant --reason vacation',
    'usher grant clara@example.com atelier accountant --until 2026-12-04T18:00+01:00',
  ]);
}

interface GrantOptions extends ServiceOptions {
  from?: string;
  until?: string;
}

/** Absent leaves what is there, null clears it. */
function bound(name: 'startsAt' | 'endsAt', given: string | undefined): Record<string, string | null> {
  if (given === undefined) return {};
  return { [name]: given === 'none' ? null : given };
}

/** `usher revoke EMAIL APP ROLE`: removes one role. */
export function defineRevoke(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('revoke <email> <app> <role>'))
    .summary('take a role from a person')
    .description(
      'Takes one role in an application from a person and keeps their other roles. Fails when they do not hold it.',
    )
    .addOption(reasonOption())
    .action(async (email: string, app: string, role: string, _: ServiceOptions, self: Command) => {
      const options = self.optsWithGlobals<ServiceOptions>();
      const service = await openService(context.io, options);
      await service.call('DELETE /api/users/{email}/apps/{appCode}/roles/{roleCode}', {
        path: { email, appCode: app, roleCode: role },
      });
      const text = `${email} no longer holds ${role} in ${app}.`;
      await print(context, options, { email, app, role, changed: true }, text);
    });
  withExamples(command, ['usher revoke clara@example.com atelier accountant']);
}
