import { useState } from 'react';
import { Link } from 'wouter';
import { Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { ImpactReview } from '../../parts/impact.tsx';
import { Card } from '../../parts/page.tsx';
import { useWords } from '../../words/words.ts';
import { personPath } from '../people/address.ts';
import css from './sign-in.module.css';
import type { ProviderEvents } from './status.ts';
import { reasonOf, Table } from './table.tsx';

type Waiting = Pick<ProviderEvents, 'unresolved' | 'emailChanges'>;
type EmailChange = ProviderEvents['emailChanges'][number];

/** Events about nobody who is known, and addresses that changed at the provider until the person is moved. */
export function WaitingCards({ unresolved, emailChanges }: Waiting) {
  const { signIn: words, common } = useWords();
  const [moving, setMoving] = useState<EmailChange | null>(null);
  return (
    <>
      {emailChanges.length > 0 && (
        <Card title={words.emailChanges}>
          <p className={css.soft}>{words.emailChangesWhy}</p>
          <Table label={words.emailChanges} heads={[words.at, common.email, words.newAddress, common.actions]}>
            {emailChanges.map((change) => (
              <tr key={change.email}>
                <td>
                  <Time iso={change.at} />
                </td>
                <td>
                  <Link href={personPath(change.email)}>{change.email}</Link>
                </td>
                <td>{change.to}</td>
                <td>
                  <Button aria-label={`${words.move}: ${change.email}`} onClick={() => setMoving(change)}>
                    {words.move}
                  </Button>
                </td>
              </tr>
            ))}
          </Table>
        </Card>
      )}
      {unresolved.length > 0 && <Unresolved events={unresolved} />}
      {moving !== null && <Move {...moving} onClose={() => setMoving(null)} />}
    </>
  );
}

function Unresolved({ events }: { events: ProviderEvents['unresolved'] }) {
  const { signIn: words } = useWords();
  return (
    <Card title={words.unresolved}>
      <p className={css.soft}>{words.unresolvedWhy}</p>
      <Table
        label={words.unresolved}
        heads={[words.at, words.event, words.userId, words.organization, words.reason, words.tries]}
      >
        {events.map(({ id, at, eventType, subject, orgId, reason, tries }) => (
          <tr key={id}>
            <td>
              <Time iso={at} />
            </td>
            <td>
              <code>{eventType}</code>
            </td>
            <td>
              <code>{subject}</code>
            </td>
            <td>
              <code>{orgId ?? '–'}</code>
            </td>
            <td>{reasonOf(reason, words.reasons)}</td>
            <td>{tries}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

/** Everything that the old address has goes to the new one, in one change. */
function Move({ email, to, onClose }: EmailChange & { onClose: () => void }) {
  const { signIn: words } = useWords();
  return (
    <ImpactReview
      title={words.moveOf(email)}
      operation="POST /api/users/{email}/move"
      input={{ path: { email }, body: { to } }}
      summary={<p>{words.moveWhy(to)}</p>}
      confirm={words.move}
      done={words.isMoved(email, to)}
      onClose={onClose}
    />
  );
}
