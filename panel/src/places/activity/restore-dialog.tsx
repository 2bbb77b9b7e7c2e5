import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { ImpactReview } from '../../parts/impact.tsx';
import { Facts } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import type { Restore, StoredTemplate } from './restore.ts';

interface RestoreDialogProps {
  readonly restore: Restore;
  readonly onClose: () => void;
}

/** The change that undoes a record, as a draft: with who gains and who loses where it is about access. */
export function RestoreDialog({ restore, onClose }: RestoreDialogProps) {
  switch (restore.kind) {
    case 'role':
      return <RestoreRole {...restore} onClose={onClose} />;
    case 'roles':
      return <RestoreRoles {...restore} onClose={onClose} />;
    case 'template':
      return <RestoreTemplate appCode={restore.appCode} template={restore.template} onClose={onClose} />;
    case 'link':
      return null;
  }
}

type Of<K extends Restore['kind']> = Extract<Restore, { kind: K }> & { readonly onClose: () => void };

function RestoreRole({ appCode, role, permissions, onClose }: Omit<Of<'role'>, 'kind'>) {
  const { activity: words } = useWords();
  const roles = useRead('GET /api/applications/{appCode}/roles', { path: { appCode } });
  const roleId = roles.data?.data.find(({ code }) => code === role)?.id;
  const title = words.restoreRole(role);
  if (roleId === undefined) {
    return (
      <Dialog title={title} onClose={onClose}>
        {roles.isPending && <Loading />}
        {roles.isError && <Problem error={asError(roles.error)} onRetry={() => void roles.refetch()} />}
        {roles.isSuccess && <p>{words.gone}</p>}
      </Dialog>
    );
  }
  return (
    <ImpactReview
      title={title}
      operation="PUT /api/applications/{appCode}/roles/{roleId}/permissions"
      input={{ path: { appCode, roleId }, body: { permissions: [...permissions] } }}
      summary={<Facts facts={permissions.map(({ permission, accessLevel }) => [permission, accessLevel])} />}
      done={words.restored}
      onClose={onClose}
    />
  );
}

function RestoreRoles({ appCode, email, roles, onClose }: Omit<Of<'roles'>, 'kind'>) {
  const { activity: words, common } = useWords();
  return (
    <ImpactReview
      title={words.restoreRoles(email)}
      operation="PUT /api/users/{email}/apps/{appCode}/roles"
      input={{ path: { email, appCode }, body: { roles: [...roles] } }}
      summary={<p>{roles.length === 0 ? common.none : roles.join(', ')}</p>}
      done={words.restored}
      onClose={onClose}
    />
  );
}

interface RestoreTemplateProps {
  readonly appCode: string;
  readonly template: StoredTemplate;
  readonly onClose: () => void;
}

function RestoreTemplate({ appCode, template, onClose }: RestoreTemplateProps) {
  const { activity: words, common } = useWords();
  const path = { appCode };
  const { type, key, locale, ...content } = template;
  const stored = useRead('GET /api/applications/{appCode}/templates', { path });
  const present = stored.data?.data.find((of) => of.type === type && of.key === key && of.locale === locale);
  const writing = useWrite({ done: words.restored, refreshes: [`/api/applications/${appCode}`] });
  const write = async (): Promise<void> => {
    const made = await writing.run(() =>
      present === undefined
        ? call('POST /api/applications/{appCode}/templates', { path, body: template })
        : call('PUT /api/applications/{appCode}/templates/{id}', { path: { ...path, id: present.id }, body: content }),
    );
    if (made) onClose();
  };
  return (
    <Dialog
      wide
      title={words.restoreTemplate(`${type}/${key}/${locale}`)}
      onClose={onClose}
      act={{
        label: words.restore,
        busy: writing.busy,
        disabled: !stored.isSuccess && common.missing.wait,
        onAct: () => void write(),
      }}
    >
      <p>{words.unwritten}</p>
      <Facts
        facts={Object.entries(content).map(([name, value]) => [name, <bdi key={name}>{String(value ?? '')}</bdi>])}
      />
      <Problem error={writing.error} />
    </Dialog>
  );
}
