import type { Command } from 'commander';
import { withExamples } from './help.ts';
import { CommandFailed, type Context, print } from './io.ts';
import { addServiceOptions, openService, type ServiceOptions } from './service.ts';
import { painter, table } from './terminal.ts';

/** `usher roles APP` and `usher roles EMAIL APP`: the roles of an application, or those that a person holds. */
export function defineRoles(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('roles'))
    .argument('<app or email>', "an application, or a person's address")
    .argument('[app]', 'the application, after an address')
    .usage('[options] <app> | <email> <app>')
    .summary('list the roles of an application, or those that a person holds in it')
    .description(
      'Lists the roles of an application. With an address before the application: the roles that the person holds in it.',
    )
    .action(async (first: string, second: string | undefined, _: ServiceOptions, self: Command) => {
      const options = self.optsWithGlobals<ServiceOptions>();
      const [email, app] = second === undefined ? [null, first] : [first, second];
      if ((email ?? '@').includes('@') !== true || app.includes('@')) {
        throw new CommandFailed('Give an application, or an address and an application.', {
          code: 'USAGE',
        });
      }
      const service = await openService(context.io, options);
      const { data: roles } =
        email === null
          ? await service.call('GET /api/applications/{appCode}/roles', { path: { appCode: app } })
          : await service.call('GET /api/users/{email}/apps/{appCode}/roles', { path: { email, appCode: app } });
      const { io } = context;
      const rows = roles.map(({ code, name, description }) => [code, name ?? '', description ?? '']);
      const none = email === null ? `${app} has no roles.` : `${email} holds no roles in ${app}.`;
      const text = rows.length === 0 ? none : table(['ROLE', 'NAME', 'DESCRIPTION'], rows, painter(io, io.stdout));
      await print(context, options, roles, text);
    });
  withExamples(command, ['usher roles atelier', 'usher roles clara@example.com atelier']);
}
