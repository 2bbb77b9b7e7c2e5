import { Link } from 'wouter';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Badge } from '../../parts/badge.tsx';
import { Card } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { PANEL_APP } from '../../shell/panel-app.ts';
import { useWords } from '../../words/words.ts';
import { cellsOf, localesOf, MAILS } from './mail-matrix.ts';
import { RefusedMails } from './refused-mails.tsx';
import css from './sign-in.module.css';
import { Table } from './table.tsx';

/** Which mail of the provider is written by which template, by language; and which brand sends it. */
export function Mails() {
  const { signIn: words } = useWords();
  const config = useRead('GET /api/admin/config', {});
  const named = config.data?.data.find(({ key }) => key === 'idp.notificationAppCode')?.value;
  // The application that holds the templates unless the configuration names another.
  const app = typeof named === 'string' ? named : PANEL_APP;
  const templates = useRead(
    'GET /api/applications/{appCode}/templates',
    { path: { appCode: app } },
    { enabled: config.isSuccess },
  );
  const languages = useRead('GET /api/languages', {});
  const brands = useRead('GET /api/admin/brands', {});
  const failed = [config, templates, languages, brands].find(({ isError, data }) => isError && data === undefined);
  if (failed !== undefined) return <Problem error={asError(failed.error)} onRetry={() => void failed.refetch()} />;
  if (!templates.data || !languages.data || !brands.data) return <Loading rows={6} />;
  const facts = { templates: templates.data.data, languages: languages.data.data };
  const locales = localesOf(facts.templates);
  const sending = brands.data.data.filter(({ idpOrgId }) => idpOrgId !== null);
  return (
    <>
      <RefusedMails />
      <Card
        title={words.mailWords}
        actions={<Link href={`/applications/${encodeURIComponent(app)}/messages`}>{words.openTemplates}</Link>}
      >
        <p className={css.soft}>{words.mailWordsWhy}</p>
        <Table label={words.mailWords} heads={[words.mail, ...locales]}>
          {MAILS.map(([key, events]) => (
            <tr key={key}>
              <th scope="row">
                {words.mailNames[key]}
                <span className={css.events}>
                  {events.map((event) => (
                    <code key={event}>{event}</code>
                  ))}
                </span>
              </th>
              {cellsOf(key, facts).map(({ locale, own, sent }) => (
                <td key={locale}>
                  {own && <Badge tone="good">{words.ownWords}</Badge>}
                  {!own && sent !== null && <span className={css.soft}>{words.instead(sent)}</span>}
                  {sent === null && <Badge tone="warn">{words.providerWords}</Badge>}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      </Card>
      <Card title={words.mailBrands} actions={<Link href="/brands">{words.openBrands}</Link>}>
        <p className={css.soft}>{words.mailBrandsWhy}</p>
        {sending.length === 0 && <p>{words.noMailBrands}</p>}
        {sending.length > 0 && (
          <Table label={words.mailBrands} heads={[words.brand, words.organization]}>
            {sending.map(({ id, name, idpOrgId }) => (
              <tr key={id}>
                <th scope="row">
                  <bdi>{name}</bdi>
                </th>
                <td>
                  <code>{idpOrgId}</code>
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Card>
    </>
  );
}
