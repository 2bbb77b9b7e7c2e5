import { useState } from 'react';
import { asError } from '../api/error.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useWords } from '../words/words.ts';
import { session } from './session.ts';

/** Over the page, whose drafts stay: requests that were refused go on when somebody has signed in again. */
export function SignInAgain() {
  const { session: words } = useWords();
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const again = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await session.signInAgain();
    } catch (thrown) {
      setError(asError(thrown));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={words.expired}
      dismissible={false}
      onClose={() => undefined}
      actions={
        <Button kind="primary" busy={busy} onClick={() => void again()}>
          {words.again}
        </Button>
      }
    >
      <p>{words.expiredWhy}</p>
      <Problem error={error} />
    </Dialog>
  );
}
