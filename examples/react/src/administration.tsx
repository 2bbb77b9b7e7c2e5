import { usePermission } from '@usher-service/react';
import { type FormEvent, useState } from 'react';
import { administer } from './service.ts';

const ROLES = ['designer', 'accountant', 'director'];

/** For administrators of the application: what is done in this window is seen in the others. */
export function Administration({ email }: { readonly email: string }) {
  const { allowed } = usePermission('workspace.settings', { level: 'edit' });
  const [said, setSaid] = useState('');
  if (!allowed) return null;

  const act = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget, (event.nativeEvent as SubmitEvent).submitter);
    const field = (name: string) => {
      const value = form.get(name);
      return typeof value === 'string' ? value : '';
    };
    const [person, role] = [field('person'), field('role')];
    const roles = `/api/users/${encodeURIComponent(person)}/apps/atelier/roles`;
    const done = {
      give: () => administer(email, 'POST', roles, { role }),
      take: () => administer(email, 'DELETE', `${roles}/${role}`),
      notify: () =>
        administer(email, 'POST', '/api/applications/atelier/notifications', {
          recipients: [person],
          subject: field('subject'),
          body: 'Sent from the example.',
          url: '/#project',
        }),
    }[field('do')];
    done?.().then(setSaid, (error: unknown) => setSaid(String(error)));
  };
  return (
    <section aria-labelledby="administration">
      <h2 id="administration">Administration</h2>
      <form onSubmit={act}>
        <label>
          Person <input type="email" name="person" required defaultValue="ben@example.com" />
        </label>
        <label>
          Role{' '}
          <select name="role">
            {ROLES.map((role) => (
              <option key={role}>{role}</option>
            ))}
          </select>
        </label>
        <button type="submit" name="do" value="give">
          Give the role
        </button>
        <button type="submit" name="do" value="take">
          Take the role away
        </button>
        <label>
          Subject <input name="subject" defaultValue="The drawings are ready" />
        </label>
        <button type="submit" name="do" value="notify">
          Send a notification
        </button>
      </form>
      <p role="status">{said}</p>
    </section>
  );
}
