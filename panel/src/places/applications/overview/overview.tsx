import { lazy, Suspense, useState } from 'react';
import { Link } from 'wouter';
import { asError } from '../../../api/error.ts';
import { useList, useRead } from '../../../api/queries.ts';
import { actorName } from '../../../parts/actor.ts';
import { Badge, Time } from '../../../parts/badge.tsx';
import { Button, ButtonLink } from '../../../parts/button.tsx';
import { Card, Facts } from '../../../parts/page.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { useAction } from '../../../shell/actions.ts';
import { mayWriteIn, PANEL_APP } from '../../../shell/panel-app.ts';
import { useRights } from '../../../shell/rights.ts';
import { useFormats, useWords } from '../../../words/words.ts';
import { Told } from '../../activity/told.tsx';
import css from '../applications.module.css';
import { FIRST } from '../registry.ts';
import type { ViewProps } from '../view-props.ts';
import { Admins } from './admins.tsx';

const EditApplication = lazy(async () => ({ default: (await import('./edit-application.tsx')).EditApplication }));
const DeleteApplication = lazy(async () => ({ default: (await import('./delete-application.tsx')).DeleteApplication }));

/** What an application is, who administers it, and what happened last. */
export default function Overview({ appCode, application }: ViewProps) {
  const words = useWords().applications.overview;
  const rights = useRights();
  const mayEdit = mayWriteIn(rights, appCode);
  const [open, setOpen] = useState<'edit' | 'delete' | null>(null);
  const mayDelete = rights.isSuperAdmin && appCode !== PANEL_APP;
  useAction(mayEdit ? words.edit : null, () => setOpen('edit'));
  const close = () => setOpen(null);
  return (
    <div className={css.column}>
      <Numbers appCode={appCode} />
      <div className={css.columns}>
        <div className={css.column}>
          <About
            application={application}
            onEdit={mayEdit ? () => setOpen('edit') : null}
            onDelete={mayDelete ? () => setOpen('delete') : null}
          />
          <LastChanges appCode={appCode} />
        </div>
        <div className={css.column}>
          <Card title={words.askMe}>
            <span className={css.buttons}>
              <ButtonLink kind="primary" href={`/ask?app=${encodeURIComponent(appCode)}`}>
                {words.ask}
              </ButtonLink>
            </span>
          </Card>
          <Admins appCode={appCode} mayEdit={mayEdit} />
        </div>
      </div>
      <Suspense fallback={null}>
        {open === 'edit' && <EditApplication appCode={appCode} onClose={close} />}
        {open === 'delete' && <DeleteApplication application={application} onClose={close} />}
      </Suspense>
    </div>
  );
}

interface AboutProps {
  readonly application: ViewProps['application'];
  /** Null where it is not the person's to do. */
  readonly onEdit: (() => void) | null;
  readonly onDelete: (() => void) | null;
}

function About({ application, onEdit, onDelete }: AboutProps) {
  const { applications, common } = useWords();
  const words = applications.overview;
  const { code, name, description, supportedLanguages, strictCodes, tellEndings, createdAt, updatedAt } = application;
  return (
    <Card
      title={words.facts}
      actions={
        <span className={css.buttons}>
          {onEdit !== null && <Button onClick={onEdit}>{common.edit}</Button>}
          {onDelete !== null && (
            <Button kind="danger" onClick={onDelete}>
              {common.remove}
            </Button>
          )}
        </span>
      }
    >
      <Facts
        facts={[
          [common.name, name],
          [common.code, <code key="code">{code}</code>],
          ...(description ? [[common.description, description] as const] : []),
          [
            words.languages,
            supportedLanguages.length === 0 ? (
              <span key="languages" className={css.soft}>
                {words.anyLanguage}
              </span>
            ) : (
              <span key="languages" className={css.buttons}>
                {supportedLanguages.map((language) => (
                  <Badge key={language}>{language}</Badge>
                ))}
              </span>
            ),
          ],
          [words.strict, strictCodes ? words.strictOn : words.strictOff],
          [words.tellEndings, tellEndings ? common.yes : common.no],
          [words.created, <Time key="created" iso={createdAt} />],
          [words.changed, <Time key="changed" iso={updatedAt} />],
        ]}
      />
    </Card>
  );
}

/** How much there is, as links to it. */
function Numbers({ appCode }: { appCode: string }) {
  const words = useWords().applications.overview;
  const formats = useFormats();
  const roles = useRead('GET /api/applications/{appCode}/roles', { path: { appCode } });
  const permissions = useRead('GET /api/applications/{appCode}/permissions', { path: { appCode } });
  const admins = useRead('GET /api/users/admins/apps/{appCode}', { path: { appCode } });
  // The number of people is known where the list of applications has been read; it is not worth reading that for it.
  const listed = useList('GET /api/applications', { query: FIRST }, false).items.find(({ code }) => code === appCode);
  const base = `/applications/${encodeURIComponent(appCode)}`;
  const numbers = [
    ...(listed === undefined ? [] : [[`${base}/people`, words.people, listed.counts.people] as const]),
    [`${base}/matrix`, words.roles, roles.data?.data.length],
    [`${base}/permissions`, words.permissions, permissions.data?.data.length],
  ] as const;
  return (
    <div className={css.numbers}>
      {numbers.map(([href, label, number]) => (
        <Link key={label} href={href} className={css.number}>
          <strong>{number === undefined ? '–' : formats.number(number)}</strong>
          {label}
        </Link>
      ))}
      <div className={css.number}>
        <strong>{admins.data === undefined ? '–' : formats.number(admins.data.data.length)}</strong>
        {words.admins}
      </div>
    </div>
  );
}

const SHOWN = 8;

function LastChanges({ appCode }: { appCode: string }) {
  const all = useWords();
  const { applications } = all;
  const words = applications.overview;
  const audit = useRead('GET /api/applications/{appCode}/audit', { path: { appCode }, query: { limit: SHOWN } });
  return (
    <Card
      title={words.last}
      actions={<Link href={`/applications/${encodeURIComponent(appCode)}/history`}>{words.all}</Link>}
    >
      {audit.isPending && <Loading />}
      {audit.isError && <Problem error={asError(audit.error)} onRetry={() => void audit.refetch()} />}
      {audit.data?.data.length === 0 && <p className={css.soft}>{words.noChanges}</p>}
      <ul className={css.plain}>
        {audit.data?.data.map((record) => (
          <li key={record.id}>
            <Told record={record} ofApplication />
            <span className={css.soft}>
              {actorName(record.actor, all)} · <Time iso={record.at} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
