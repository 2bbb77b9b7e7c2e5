import { useState } from 'react';
import { call } from '../../api/call.ts';
import { ApiError } from '../../api/error.ts';
import { useWrite } from '../../api/writes.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { faultOf, TextField } from '../../parts/field.tsx';
import { Facts } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import css from './brands.module.css';
import type { Brand } from './draft.ts';

interface SmtpFailure {
  readonly kind?: string;
  readonly code?: string;
  readonly response?: string;
}

/** Sends a mail through the brand's own server, and shows in that server's words what came of it. */
export function TestMail({ brand, onClose }: { brand: Brand; onClose: () => void }) {
  const { brands: words, common } = useWords();
  const { email } = useRights();
  const [to, setTo] = useState(email);
  const [answer, setAnswer] = useState<string | null>(null);
  const writing = useWrite({ refreshes: [] });
  const { error } = writing;
  const send = () =>
    writing.run(async () => {
      setAnswer(null);
      const input = { path: { id: brand.id }, body: { to } };
      const { data } = await call('POST /api/admin/brands/{id}/test-email', input, { timeoutMs: 35_000 });
      setAnswer(data.smtp.response);
    });
  const failure =
    error instanceof ApiError && error.code === 'SMTP_FAILED' ? ((error.details.smtp ?? {}) as SmtpFailure) : null;
  return (
    <Dialog
      title={words.testTitle(brand.name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{common.close}</Button>
          <Button
            kind="primary"
            type="submit"
            form="test-mail"
            busy={writing.busy}
            disabled={to.trim() === '' && common.missing.address}
          >
            {words.testDo}
          </Button>
        </>
      }
    >
      <p className={css.soft}>{words.testLead}</p>
      <form
        id="test-mail"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <TextField label={words.testTo} type="email" value={to} fault={faultOf(error, 'to')} onText={setTo} />
      </form>
      <div role="status" className={css.form}>
        {answer !== null && (
          <>
            <p className={css.good}>{words.testSent(to)}</p>
            <Facts facts={[[words.answer, <code key="answer">{answer}</code>]]} />
          </>
        )}
        {failure !== null && (
          <>
            <p className={css.bad}>
              {words.testFailed} {words.failures[failure.kind ?? ''] ?? ''}
            </p>
            {failure.response !== undefined && failure.response !== '' && (
              <Facts
                facts={[
                  [
                    words.answer,
                    <code key="answer">
                      {failure.code} {failure.response}
                    </code>,
                  ],
                ]}
              />
            )}
          </>
        )}
      </div>
      {failure === null && <Problem error={error} />}
    </Dialog>
  );
}
