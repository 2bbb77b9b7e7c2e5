import { useState } from 'react';
import { Link } from 'wouter';
import type { Item, NotificationType, Template } from '../../../../../src/gen/api.ts';
import { call } from '../../../api/call.ts';
import { asError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { useWrite } from '../../../api/writes.ts';
import { Badge } from '../../../parts/badge.tsx';
import { Button } from '../../../parts/button.tsx';
import { Confirm } from '../../../parts/confirm.tsx';
import { Card, Empty } from '../../../parts/page.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { useAction } from '../../../shell/actions.ts';
import { PROVIDER_TYPE } from '../../../shell/panel-app.ts';
import { useRights } from '../../../shell/rights.ts';
import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../view-props.ts';
import css from './messages.module.css';
import { NewTemplate } from './new-template.tsx';
import { templateHref } from './template-href.ts';
import { TypeDialog } from './type-dialog.tsx';
import { variantOf } from './variants.ts';

type Language = Item<'GET /api/languages'>;

/** Types, each with its templates by key and language. */
export function Types({ appCode, application, mayEdit }: ViewProps) {
  const { messages: words } = useWords().applications;
  const { isSuperAdmin } = useRights();
  const path = { appCode };
  const types = useRead('GET /api/applications/{appCode}/notification-types', { path });
  const templates = useRead('GET /api/applications/{appCode}/templates', { path });
  const languages = useRead('GET /api/languages', {}, { staleTime: 300_000 });
  const [editing, setEditing] = useState<NotificationType | 'new' | null>(null);
  const [deleting, setDeleting] = useState<NotificationType | null>(null);
  const [adding, setAdding] = useState<NotificationType | null>(null);
  useAction(mayEdit ? words.newType : null, () => setEditing('new'));
  // What was read before stays when it cannot be read again: a dialog with a draft may be open above it.
  const failed = [types, templates, languages].find(({ isError, data }) => isError && data === undefined);
  if (failed) return <Problem error={asError(failed.error)} onRetry={() => void failed.refetch()} />;
  if (!types.data || !templates.data || !languages.data) return <Loading rows={6} />;
  const known = languages.data.data;
  return (
    <div className={css.types}>
      <div className={css.head}>
        <p className={css.lead}>{words.lead}</p>
        {mayEdit && (
          <Button kind="primary" onClick={() => setEditing('new')}>
            {words.newType}
          </Button>
        )}
      </div>
      {types.data.data.length === 0 && <Empty title={words.empty} />}
      {types.data.data.map((type) => (
        <TypeCard
          key={type.id}
          appCode={appCode}
          type={type}
          templates={templates.data.data.filter((of) => of.type === type.code)}
          languages={known}
          supported={application.supportedLanguages}
          // Mails of signing in are those of the whole service.
          mayEdit={mayEdit && (type.code !== PROVIDER_TYPE || isSuperAdmin)}
          onEdit={() => setEditing(type)}
          onDelete={() => setDeleting(type)}
          onAdd={() => setAdding(type)}
        />
      ))}
      {editing !== null && (
        <TypeDialog appCode={appCode} type={editing === 'new' ? null : editing} onClose={() => setEditing(null)} />
      )}
      {deleting !== null && <DeleteType appCode={appCode} type={deleting} onClose={() => setDeleting(null)} />}
      {adding !== null && (
        <NewTemplate
          appCode={appCode}
          type={adding.code}
          templates={templates.data.data.filter((one) => one.type === adding.code)}
          languages={known}
          supported={application.supportedLanguages}
          onClose={() => setAdding(null)}
        />
      )}
    </div>
  );
}

interface TypeCardProps {
  readonly appCode: string;
  readonly type: NotificationType;
  readonly templates: readonly Template[];
  readonly languages: readonly Language[];
  readonly supported: readonly string[];
  readonly mayEdit: boolean;
  readonly onEdit: () => void;
  readonly onDelete: () => void;
  readonly onAdd: () => void;
}

function TypeCard({ type, mayEdit, onEdit, onDelete, onAdd, ...variants }: TypeCardProps) {
  const { applications, common } = useWords();
  const words = applications.messages;
  const { name, code, description, emailEnabled, pushEnabled, userCanDisable, system } = type;
  return (
    <Card
      title={
        <>
          <bdi>{name}</bdi> <code className={css.soft}>{code}</code>
        </>
      }
      actions={
        <span className={css.badges}>
          {emailEnabled && <Badge tone="good">{words.mail}</Badge>}
          {pushEnabled && <Badge tone="good">{words.push}</Badge>}
          {!emailEnabled && !pushEnabled && <Badge tone="warn">{words.off}</Badge>}
          {!userCanDisable && <Badge>{words.must}</Badge>}
          {system && <Badge>{words.system}</Badge>}
          {mayEdit && (
            <>
              <Button kind="quiet" aria-label={`${words.addVariant}: ${code}`} onClick={onAdd}>
                {words.addVariant}
              </Button>
              <Button kind="quiet" aria-label={`${common.edit} ${code}`} onClick={onEdit}>
                {common.edit}
              </Button>
              {!system && (
                <Button kind="quiet" aria-label={words.deleteType(code)} onClick={onDelete}>
                  {common.remove}
                </Button>
              )}
            </>
          )}
        </span>
      }
    >
      {description && (
        <p className={css.soft} dir="auto">
          {description}
        </p>
      )}
      <Variants {...variants} code={code} mayEdit={mayEdit} />
    </Card>
  );
}

type VariantsProps = Pick<TypeCardProps, 'appCode' | 'templates' | 'languages' | 'supported' | 'mayEdit'>;

/** Keys down, languages across. A language without a template says which one is sent instead. */
function Variants({ appCode, templates, languages, supported, mayEdit, code }: VariantsProps & { code: string }) {
  const { messages: words } = useWords().applications;
  if (templates.length === 0) return <p className={css.soft}>{words.noTemplates}</p>;
  const keys = [...new Set(templates.map(({ key }) => key))];
  const locales = [...new Set([...supported, ...templates.map(({ locale }) => locale)])];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard
    <section className={css.scroller} tabIndex={0} aria-label={words.variants(code)}>
      <table className={css.variants}>
        <thead>
          <tr>
            <th scope="col">{words.key}</th>
            {locales.map((locale) => (
              <th key={locale} scope="col">
                {locale}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => {
            const written = new Map(templates.filter((of) => of.key === key).map((of) => [of.locale, of]));
            return (
              <tr key={key}>
                <th scope="row">{key}</th>
                {locales.map((locale) => {
                  const href = templateHref(appCode, { type: code, key, locale });
                  const own = written.get(locale);
                  const falls = variantOf(locale, new Set(written.keys()), languages);
                  return (
                    <td key={locale}>
                      {own !== undefined && <Link href={href}>{cut(own.subject)}</Link>}
                      {own === undefined && falls !== null && (
                        <span className={css.soft} title={words.fallsWhy(falls)}>
                          {words.falls(falls)}{' '}
                          {mayEdit && (
                            <Link href={href} aria-label={words.addIn(locale)}>
                              +
                            </Link>
                          )}
                        </span>
                      )}
                    </td>
                  );
                })}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function cut(text: string): string {
  return text.length > 32 ? `${text.slice(0, 31).toWellFormed()}…` : text;
}

function DeleteType({ appCode, type, onClose }: { appCode: string; type: NotificationType; onClose: () => void }) {
  const { applications } = useWords();
  const words = applications.messages;
  const writing = useWrite({ done: words.typeDeleted(type.code), refreshes: [`/api/applications/${appCode}`] });
  const remove = async (): Promise<void> => {
    const path = { appCode, id: type.id };
    if (await writing.run(() => call('DELETE /api/applications/{appCode}/notification-types/{id}', { path })))
      onClose();
  };
  return (
    <Confirm title={words.deleteType(type.code)} writing={writing} onConfirm={remove} onClose={onClose}>
      {words.deleteTypeWhy}
    </Confirm>
  );
}
