import { useState } from 'react';
import { call } from '../../api/call.ts';
import { useList } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { faultOf, TextField } from '../../parts/field.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import css from './people.module.css';
import { type RefusedAccount, refusedAccounts } from './refused-accounts.ts';

/** Names the account whose tokens are admitted with the address: one that was refused, or by its ids. */
export function NameAccount({ email, onClose }: { email: string; onClose: () => void }) {
  const { people: words } = useWords();
  const [subject, setSubject] = useState('');
  const [issuer, setIssuer] = useState('');
  const query = { subject: email, actionPrefix: 'user.subject_' };
  const { items } = useList('GET /api/admin/audit', { query });
  const refused = refusedAccounts(items);
  const writing = useWrite({ done: words.accountNamed(email) });
  const save = async (): Promise<void> => {
    const body = { subject, ...(issuer === '' ? {} : { issuer }) };
    if (await writing.run(() => call('PUT /api/users/{email}/account', { path: { email }, body }))) onClose();
  };
  const use = (account: RefusedAccount): void => {
    setSubject(account.subject);
    setIssuer(account.issuer);
  };
  const isAtField = ['subject', 'issuer'].some((field) => faultOf(writing.error, field) !== null);
  return (
    <Dialog
      title={words.nameAccountOf(email)}
      onClose={onClose}
      act={{ label: words.nameAccount, danger: true, busy: writing.busy }}
      onSubmit={() => void save()}
    >
      <p>{words.nameAccountWhy}</p>
      {refused.length > 0 && <Refused accounts={refused} onUse={use} />}
      <TextField
        label={words.subject}
        hint={words.subjectWhy}
        value={subject}
        fault={faultOf(writing.error, 'subject')}
        required
        onText={setSubject}
      />
      <TextField
        label={words.issuer}
        hint={words.issuerWhy}
        value={issuer}
        fault={faultOf(writing.error, 'issuer')}
        onText={setIssuer}
      />
      {!isAtField && <Problem error={writing.error} />}
    </Dialog>
  );
}

function Refused({
  accounts,
  onUse,
}: {
  accounts: readonly RefusedAccount[];
  onUse: (account: RefusedAccount) => void;
}) {
  const { people: words } = useWords();
  return (
    <>
      <h3>{words.refusedAccounts}</h3>
      <p className={css.soft}>{words.refusedAccountsWhy}</p>
      <ul className={css.plain}>
        {accounts.map((account) => (
          <li key={`${account.issuer}\n${account.subject}`}>
            <span>
              <code>{account.subject}</code>{' '}
              {account.organization !== null && <span>{words.ofOrganization(account.organization)}</span>}{' '}
              <Time iso={account.at} />
            </span>
            <Button kind="quiet" aria-label={`${words.useAccount}: ${account.subject}`} onClick={() => onUse(account)}>
              {words.useAccount}
            </Button>
          </li>
        ))}
      </ul>
    </>
  );
}
