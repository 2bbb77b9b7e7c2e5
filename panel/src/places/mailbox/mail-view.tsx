import { asError } from '../../api/error.ts';
import { Time } from '../../parts/badge.tsx';
import { ButtonLink } from '../../parts/button.tsx';
import { Choice } from '../../parts/choice.tsx';
import { useFilters } from '../../parts/filters.ts';
import { MailPreview } from '../../parts/mail-preview.tsx';
import { Card, Empty, Facts, Page } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useFormats, useWords } from '../../words/words.ts';
import css from './mailbox.module.css';
import { isGone, type Mail, useMail } from './mails.ts';

/** One mail: what its reader sees, its text part and its headers. Links in it work, in tabs of their own. */
export function MailView({ id }: { id: string }) {
  const { mailbox: words } = useWords();
  const asked = useMail(id);
  const mail = asked.data?.data;
  const trail = [['/mailbox', words.heading] as const];
  if (asked.isPending) return <Loading rows={5} />;
  if (mail !== undefined) {
    return (
      <Page title={mail.subject === '' ? words.noSubject : mail.subject} trail={trail}>
        <Parts mail={mail} />
      </Page>
    );
  }
  return (
    <Page title={words.heading} trail={trail}>
      {isGone(asked.error) ? (
        <Empty title={words.gone}>
          <p>{words.goneWhy}</p>
          <ButtonLink href="/mailbox">{words.all}</ButtonLink>
        </Empty>
      ) : (
        <Problem error={asError(asked.error)} onRetry={() => void asked.refetch()} />
      )}
    </Page>
  );
}

function Parts({ mail }: { mail: Mail }) {
  const { mailbox: words } = useWords();
  const formats = useFormats();
  const { from, to, at, html, text, messageId, headers } = mail;
  return (
    <>
      <Card>
        <Facts
          facts={[
            [
              words.from,
              <span key="from">
                <bdi>{from.name}</bdi> &lt;{from.address}&gt;
              </span>,
            ],
            [words.to, to],
            [
              words.sent,
              <span key="sent">
                {formats.moment(at)} (<Time iso={at} />)
              </span>,
            ],
          ]}
        />
        <details>
          <summary>{words.headers}</summary>
          <Facts facts={[[words.messageId, messageId], ...Object.entries(headers)]} />
        </details>
      </Card>
      <Shown html={html} />
      <Card title={words.text}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
        <pre className={css.text} dir="auto" tabIndex={0}>
          {text}
        </pre>
      </Card>
    </>
  );
}

/** The mail as mail programs show it. */
function Shown({ html }: { html: string }) {
  const { mailbox: words } = useWords();
  const { values, set } = useFilters({ scheme: 'light', width: '600' });
  const dark = values.scheme === 'dark';
  const width = values.width === '390' ? '390' : '600';
  return (
    <Card
      title={words.html}
      actions={
        <div className={css.choices}>
          <Choice
            label={words.scheme}
            value={dark ? 'dark' : 'light'}
            options={[
              ['light', words.light],
              ['dark', words.dark],
            ]}
            onChosen={(scheme) => set({ scheme })}
          />
          <Choice
            label={words.width}
            value={width}
            options={Object.entries(words.widths)}
            onChosen={(chosen) => set({ width: chosen })}
          />
        </div>
      }
    >
      <MailPreview html={html} width={Number(width)} dark={dark} label={words.frame} links />
    </Card>
  );
}
