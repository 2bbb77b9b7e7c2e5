import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { RunningUsher } from '../support/usher.ts';

/** A request of an administrator, outside of the panel. Throws unless it succeeds; answers the payload. */
export async function administer(
  usher: RunningUsher,
  operation: string,
  body?: unknown,
  as = 'admin@example.com',
): Promise<unknown> {
  const [method = 'GET', path = ''] = operation.split(' ');
  const headers = { authorization: `Bearer ${await usher.token(as)}`, 'content-type': 'application/json' };
  const response = await fetch(`${usher.rest}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${operation}: ${response.status} ${text.slice(0, 500)}`);
  return text === '' ? undefined : (JSON.parse(text) as { data?: unknown }).data;
}

/** The application `atelier` of the demonstration. */
export async function makeDemo(usher: RunningUsher): Promise<void> {
  const manifest = readFileSync(new URL('../../examples/demo.yaml', import.meta.url), 'utf8');
  await administer(usher, 'POST /api/manifests/apply', parse(manifest));
}

/** Lets somebody read every application in the panel, and change none. */
export async function makeReader(usher: RunningUsher, email: string): Promise<void> {
  await administer(usher, 'POST /api/applications/auth/roles', { code: 'reader' });
  const changes = [
    { role: 'reader', permission: 'panel.access', accessLevel: 'allowed' },
    { role: 'reader', permission: 'applications.manage', accessLevel: 'view' },
  ];
  await administer(usher, 'PUT /api/applications/auth/matrix', { changes });
  await administer(usher, `POST /api/users/${email}/apps/auth/roles`, { role: 'reader' });
}

/** An application with so many roles and permissions, about a third of the cells filled. */
export async function makeWide(usher: RunningUsher, code: string, roles: number, permissions: number): Promise<void> {
  const codes = Array.from({ length: permissions }, (_, at) => `area${at % 10}.action-${at}`);
  await administer(usher, 'POST /api/manifests/apply', {
    application: { code, name: `Wide ${code}` },
    permissions: codes.map((one, at) => ({
      code: one,
      type: at % 3 === 0 ? 'binary' : 'tiered',
      groupName: `Area ${at % 10}`,
    })),
    roles: Array.from({ length: roles }, (_, at) => ({
      code: `role-${String(at).padStart(3, '0')}`,
      permissions: Object.fromEntries(
        codes.flatMap((one, of) => ((at + of) % 3 === 0 ? [[one, of % 3 === 0 ? 'allowed' : 'view']] : [])),
      ),
    })),
  });
}
