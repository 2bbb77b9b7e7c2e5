import type { Command } from 'commander';
import type { Access, ApplicationAccess } from '../gen/api.ts';
import { withExamples } from './help.ts';
import { type Context, print } from './io.ts';
import { ownToken } from './questions.ts';
import { addServiceOptions, openService, type ServiceOptions } from './service.ts';
import { harmless, moment } from './terminal.ts';

/** `usher access EMAIL`: all that a person has. */
export function defineAccess(program: Command, context: Context): void {
  const command = addServiceOptions(program.command('access <email>'))
    .summary('list what a person has in every application')
    .description(
      'Lists roles, permissions, overrides and the last login, by application. Administrators who are not SuperAdmins see their own applications.',
    )
    .action(async (email: string, _: ServiceOptions, self: Command) => {
      const options = self.optsWithGlobals<ServiceOptions>();
      const service = await openService(context.io, options);
      const { data: access } = ownToken(service, email)
        ? await service.call('GET /api/profile/me/access', {})
        : await service.call('GET /api/users/{email}/access', { path: { email } });
      await print(context, options, access, inWords(access));
    });
  withExamples(command, [
    'usher access clara@example.com',
    'usher access clara@example.com --url https://usher.example.com',
  ]);
}

function inWords({ email, active, isSuperAdmin, applications }: Access): string {
  const person = `${email}: ${active ? 'active' : 'inactive, so everything is denied'}${isSuperAdmin ? ', SuperAdmin' : ''}`;
  if (applications.length === 0) return `${person}\nNothing in any application.`;
  const lines = [person, ...applications.map(ofApplication)].join('\n\n').split('\n');
  return lines.map(harmless).join('\n');
}

function ofApplication(application: ApplicationAccess): string {
  const { code, name, level, roles, permissions, overrides, moreOverrides, lastLoginAt } = application;
  const lines = [`${code} (${harmless(name)})${level === 'app_admin' ? ', application admin' : ''}`];
  if (roles.length > 0) lines.push(`  roles       ${roles.join(', ')}`);
  if (lastLoginAt !== null) lines.push(`  last login  ${moment(lastLoginAt)}`);
  if (permissions.length > 0) {
    const width = Math.max(...permissions.map((permission) => permission.code.length));
    lines.push('  permissions');
    for (const held of permissions) lines.push(`    ${held.code.padEnd(width)}  ${held.accessLevel}`);
  }
  if (overrides.length > 0) lines.push('  overrides');
  for (const { resourceType, resourceId, permission, granted, accessLevel } of overrides) {
    lines.push(`    ${resourceType}:${harmless(resourceId)}  ${permission}  ${granted ? accessLevel : 'denied'}`);
  }
  if (moreOverrides > 0) lines.push(`    and ${moreOverrides} more`);
  return lines.join('\n');
}
