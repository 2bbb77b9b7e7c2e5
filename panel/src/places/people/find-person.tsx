import { type FormEvent, lazy, Suspense, useId, useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Loading } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import css from './dialogs.module.css';

const PersonField = lazy(async () => ({ default: (await import('../../parts/person-field.tsx')).PersonField }));

interface FindPersonProps {
  readonly onClose: () => void;
  readonly onFound: (email: string) => void;
}

/** Opens the page of an address, whether anybody knows it yet or not: there it can be given a role. */
export function FindPerson({ onClose, onFound }: FindPersonProps) {
  const { people: words, common } = useWords();
  const [email, setEmail] = useState('');
  const form = useId();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    onClose();
    onFound(email.trim().toLowerCase());
  };
  return (
    <Dialog
      title={words.add}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button kind="primary" type="submit" form={form} disabled={!email.includes('@')}>
            {words.open}
          </Button>
        </>
      }
    >
      <p>{words.addWhy}</p>
      <form id={form} className={css.room} onSubmit={submit}>
        <Suspense fallback={<Loading rows={1} />}>
          <PersonField value={email} onText={setEmail} autoFocus />
        </Suspense>
      </form>
    </Dialog>
  );
}
