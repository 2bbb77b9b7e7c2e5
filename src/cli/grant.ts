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
      'Gives a person one role in an application and keeps their other roles. Changes nothing when they hold it already. The person need not have signed in before.',
    )
    .addOption(reasonOption())
    .action(async (email: string, app: string, role: string, _: ServiceOptions, self: Command) => {
      const options = self.optsWithGlobals<ServiceOptions>();
      const service = await openService(context.io, options);
      const { status } = await service.call('POST /api/users/{email}/apps/{appCode}/roles', {
        path: { email, appCode: app },
        body: { role },
      });
      const changed = status === 201;
      const text = changed ? `${email} now holds ${role} in ${app}.` : `${email} already held ${role} in ${app}.`;
      await print(context, options, { email, app, role, changed }, text);
    });
  withExamples(command, [
    'usher grant clara@example.com atelier accountant',
    'usher grant clara@example.com atelier accountant --reason vacation',
  ]);
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
