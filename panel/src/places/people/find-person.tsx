import { lazy, Suspense, useState } from 'react';
import { Dialog } from '../../parts/dialog.tsx';
import { Loading } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';

const PersonField = lazy(async () => ({ default: (await import('../../parts/person-field.tsx')).PersonField }));

interface FindPersonProps {
  readonly onClose: () => void;
  readonly onFound: (email: string) => void;
}

/** Opens the page of an address, whether anybody knows it yet or not: there it can be given a role. */
export function FindPerson({ onClose, onFound }: FindPersonProps) {
  const { people: words, common } = useWords();
  const [email, setEmail] = useState('');
  const submit = (): void => {
    onClose();
    onFound(email.trim().toLowerCase());
  };
  return (
    <Dialog
      title={words.add}
      onClose={onClose}
      act={{ label: words.open, disabled: !email.includes('@') && common.missing.address }}
      onSubmit={submit}
    >
      <p>{words.addWhy}</p>
      <Suspense fallback={<Loading rows={1} />}>
        <PersonField value={email} onText={setEmail} autoFocus />
      </Suspense>
    </Dialog>
  );
}
