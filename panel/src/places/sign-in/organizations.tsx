import { type ReactNode, useState } from 'react';
import type { Item } from '../../../../src/gen/api.ts';
import { call } from '../../api/call.ts';
import { useList, useRead } from '../../api/queries.ts';
import { useWrite, type Writing } from '../../api/writes.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { faultOf, SelectField, TextArea, TextField } from '../../parts/field.tsx';
import { type Column, List } from '../../parts/list.tsx';
import { Empty, Facts } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import css from './sign-in.module.css';

type Organization = Item<'GET /api/idp/admin/orgs'>;
type Doing = { readonly kind: 'create' } | { readonly kind: 'setUp' | 'brand'; readonly organization: Organization };

/** Organizations at the provider: made, set up for an application, and given a look. */
export function Organizations() {
  const { signIn: words, common } = useWords();
  const [doing, setDoing] = useState<Doing | null>(null);
  // A provider that is not configured would be asked for again and again.
  const health = useRead('GET /api/idp/health', {});
  const status = health.data?.data.status;
  const listed = useList('GET /api/idp/admin/orgs', {}, status === 'ok' || status === 'unreachable');
  if (status === 'not_configured') {
    return (
      <Empty title={words.noProvider}>
        <p>
          {words.set} <code>idp.apiUrl</code>, <code>idp.serviceAccountToken</code>
        </p>
      </Empty>
    );
  }
  const columns: readonly Column<Organization>[] = [
    { title: common.name, cell: ({ name }) => <bdi>{name}</bdi> },
    { title: words.domain, wide: true, cell: ({ primaryDomain }) => primaryDomain ?? '–' },
    { title: words.organization, wide: true, cell: ({ id }) => <code>{id}</code> },
    {
      title: common.status,
      width: '7rem',
      cell: ({ state }) => (
        <Badge tone={state.endsWith('_ACTIVE') ? 'good' : 'neutral'}>
          {state.replace('ORGANIZATION_STATE_', '').toLowerCase()}
        </Badge>
      ),
    },
    {
      title: common.actions,
      width: '12rem',
      cell: (organization) => (
        <span className={css.acts}>
          <Button
            kind="quiet"
            aria-label={`${words.setUp}: ${organization.name}`}
            onClick={() => setDoing({ kind: 'setUp', organization })}
          >
            {words.setUp}
          </Button>
          <Button
            kind="quiet"
            aria-label={`${words.branding}: ${organization.name}`}
            onClick={() => setDoing({ kind: 'brand', organization })}
          >
            {words.branding}
          </Button>
        </span>
      ),
    },
  ];
  const close = () => setDoing(null);
  return (
    <>
      <div className={css.bar}>
        <p className={css.soft}>{words.organizationsWhy}</p>
        {listed.query.isSuccess && (
          <Button kind="primary" onClick={() => setDoing({ kind: 'create' })}>
            {words.createOrganization}
          </Button>
        )}
      </div>
      <List label={words.views.organizations} listed={listed} columns={columns} keyOf={({ id }) => id} />
      {doing?.kind === 'create' && <CreateOrganization onClose={close} />}
      {doing?.kind === 'setUp' && <SetUp organization={doing.organization} onClose={close} />}
      {doing?.kind === 'brand' && <Branding organization={doing.organization} onClose={close} />}
    </>
  );
}

interface FormDialogProps {
  readonly title: string;
  readonly save: string;
  readonly writing: Writing;
  /** Fields that show their own faults. */
  readonly fields: readonly string[];
  readonly onSave: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

function FormDialog({ title, save, writing, fields, onSave, onClose, children }: FormDialogProps) {
  const submit = (): void => {
    void onSave();
  };
  const isAtField = fields.some((path) => faultOf(writing.error, path) !== null);
  return (
    <Dialog title={title} onClose={onClose} act={{ label: save, busy: writing.busy }} onSubmit={submit}>
      {children}
      {!isAtField && <Problem error={writing.error} />}
    </Dialog>
  );
}

function CreateOrganization({ onClose }: { onClose: () => void }) {
  const { signIn: words, common } = useWords();
  const [name, setName] = useState('');
  const [domain, setDomain] = useState('');
  const writing = useWrite({ done: words.organizationCreated, refreshes: ['/api/idp/admin/orgs'] });
  const save = async (): Promise<void> => {
    if (await writing.run(() => call('POST /api/idp/admin/orgs', { body: { name, domain } }))) onClose();
  };
  return (
    <FormDialog
      title={words.createOrganization}
      save={common.create}
      writing={writing}
      fields={['name', 'domain']}
      onSave={save}
      onClose={onClose}
    >
      <TextField
        label={common.name}
        value={name}
        fault={faultOf(writing.error, 'name')}
        required
        autoFocus
        onText={setName}
      />
      <TextField
        label={words.domain}
        placeholder="acme.example.com"
        value={domain}
        fault={faultOf(writing.error, 'domain')}
        required
        onText={setDomain}
      />
    </FormDialog>
  );
}

interface OfOrganization {
  readonly organization: Organization;
  readonly onClose: () => void;
}

function SetUp({ organization, onClose }: OfOrganization) {
  const { signIn: words, common } = useWords();
  const applications = useRead('GET /api/applications', {});
  const codes = (applications.data?.data ?? []).map(({ code }) => code);
  const [draft, setDraft] = useState({ projectName: organization.name, appName: '', redirectUris: '', app: '' });
  const [made, setMade] = useState<{ projectId: string; appId: string; clientId: string } | null>(null);
  const writing = useWrite({ done: words.organizationSetUp, refreshes: ['/api/idp'] });
  const app = draft.app || (codes[0] ?? '');
  const save = () =>
    writing.run(async () => {
      const body = {
        projectName: draft.projectName,
        appName: draft.appName,
        redirectUris: draft.redirectUris.split(/\s+/).filter(Boolean),
        userApiAppCode: app,
      };
      setMade((await call('POST /api/idp/admin/orgs/{orgId}/setup', { path: { orgId: organization.id }, body })).data);
    });
  if (made !== null) {
    return (
      <Dialog
        title={words.setUpOf(organization.name)}
        onClose={onClose}
        actions={<Button onClick={onClose}>{common.close}</Button>}
      >
        <Facts
          facts={[
            ['projectId', <code key="project">{made.projectId}</code>],
            ['appId', <code key="app">{made.appId}</code>],
            [
              'clientId',
              <span key="client">
                <code>{made.clientId}</code> <CopyButton text={made.clientId} />
              </span>,
            ],
          ]}
        />
      </Dialog>
    );
  }
  return (
    <FormDialog
      title={words.setUpOf(organization.name)}
      save={words.setUp}
      writing={writing}
      fields={['projectName', 'appName', 'redirectUris', 'userApiAppCode']}
      onSave={save}
      onClose={onClose}
    >
      <p className={css.soft}>{words.setUpWhy}</p>
      <TextField
        label={words.projectName}
        value={draft.projectName}
        fault={faultOf(writing.error, 'projectName')}
        required
        onText={(projectName) => setDraft({ ...draft, projectName })}
      />
      <TextField
        label={words.clientName}
        value={draft.appName}
        fault={faultOf(writing.error, 'appName')}
        required
        onText={(appName) => setDraft({ ...draft, appName })}
      />
      <TextArea
        label={words.redirectUris}
        hint={words.redirectUrisWhy}
        placeholder="https://billing.example.com/callback"
        value={draft.redirectUris}
        fault={faultOf(writing.error, 'redirectUris')}
        required
        onText={(redirectUris) => setDraft({ ...draft, redirectUris })}
      />
      <SelectField
        label={common.application}
        value={app}
        options={codes.map((code) => [code, code] as const)}
        fault={faultOf(writing.error, 'userApiAppCode')}
        onText={(code) => setDraft({ ...draft, app: code })}
      />
    </FormDialog>
  );
}

function Branding({ organization, onClose }: OfOrganization) {
  const { signIn: words, common } = useWords();
  const [primaryColor, setColor] = useState('');
  const [logoUrl, setLogo] = useState('');
  const writing = useWrite({ done: words.organizationBranded, refreshes: ['/api/idp/admin/orgs'] });
  const save = async (): Promise<void> => {
    const body = { ...(primaryColor === '' ? {} : { primaryColor }), ...(logoUrl === '' ? {} : { logoUrl }) };
    const path = { orgId: organization.id };
    if (await writing.run(() => call('PUT /api/idp/admin/orgs/{orgId}/branding', { path, body }))) onClose();
  };
  return (
    <FormDialog
      title={words.brandingOf(organization.name)}
      save={common.save}
      writing={writing}
      fields={['primaryColor', 'logoUrl']}
      onSave={save}
      onClose={onClose}
    >
      <p className={css.soft}>{words.brandingWhy}</p>
      <TextField
        label={words.primaryColor}
        placeholder="#5469d4"
        value={primaryColor}
        fault={faultOf(writing.error, 'primaryColor')}
        onText={setColor}
      />
      <TextField
        label={words.logoUrl}
        type="url"
        placeholder="https://"
        value={logoUrl}
        fault={faultOf(writing.error, 'logoUrl')}
        onText={setLogo}
      />
    </FormDialog>
  );
}
