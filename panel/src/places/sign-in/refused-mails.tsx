import { Link } from 'wouter';
import type { Out } from '../../../../src/gen/api.ts';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Card } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import { personPath } from '../people/address.ts';
import css from './sign-in.module.css';
import { Table } from './table.tsx';

type RefusedMail = Out<'GET /api/idp/admin/mails'>['mails'][number];

/** Mails of the provider that nobody could send, each to be sent once its organization has a brand. Nothing where there are none. */
export function RefusedMails() {
  const { signIn: words, common } = useWords();
  const read = useRead('GET /api/idp/admin/mails', {});
  if (read.isError && read.data === undefined) {
    return <Problem error={asError(read.error)} onRetry={() => void read.refetch()} />;
  }
  const mails = read.data?.data.mails ?? [];
  if (mails.length === 0) return null;
  return (
    <Card title={words.refusedMails} actions={<Link href="/brands">{words.openBrands}</Link>}>
      <p className={css.soft}>{words.refusedMailsWhy}</p>
      <Table
        label={words.refusedMails}
        heads={[words.at, words.event, common.email, words.organization, words.reason, common.actions]}
      >
        {mails.map((mail) => (
          <Refused key={mail.id} mail={mail} />
        ))}
      </Table>
    </Card>
  );
}

function Refused({ mail }: { mail: RefusedMail }) {
  const { signIn: words } = useWords();
  const { id, at, eventType, email, orgId, reason, message, sentAt } = mail;
  const writing = useWrite({
    done: words.mailSent,
    refreshes: ['/api/idp/admin/mails', '/api/idp/admin/events'],
  });
  const send = () => call('POST /api/idp/admin/mails/{id}/send', { path: { id: String(id) } });
  return (
    <tr>
      <td>
        <Time iso={at} />
      </td>
      <td>
        <code>{eventType ?? '–'}</code>
      </td>
      <td>{email === null ? '–' : <Link href={personPath(email)}>{email}</Link>}</td>
      <td>
        <code>{orgId ?? '–'}</code>
      </td>
      <td title={message}>{words.reasons[reason] ?? <code>{reason}</code>}</td>
      <td>
        {sentAt !== null && <Badge tone="good">{words.outcomes.sent}</Badge>}
        {sentAt === null && (
          <Button
            busy={writing.busy}
            aria-label={`${words.sendMail}: ${email ?? id}`}
            onClick={() => void writing.run(send)}
          >
            {words.sendMail}
          </Button>
        )}
        <Problem error={writing.error} />
      </td>
    </tr>
  );
}
