import { useState } from 'react';
import { asError } from '../api/error.ts';
import { Button } from '../parts/button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { Problem } from '../parts/problem.tsx';
import { useWords } from '../words/words.ts';
import { PopupBlocked, session } from './session.ts';

/** Over the page, whose drafts stay: requests that were refused go on when somebody has signed in again. */
export function SignInAgain() {
  const { session: words } = useWords();
  const [error, setError] = useState<Error | null>(null);
  const [waiting, setWaiting] = useState(false);
  const again = async (): Promise<void> => {
    setWaiting(true);
    setError(null);
    try {
      await session.signInAgain();
    } catch (thrown) {
      setWaiting(false);
      setError(thrown instanceof PopupBlocked ? new Error(words.popupBlocked) : asError(thrown));
    }
  };
  return (
    <Dialog
      title={words.expired}
      onClose={null}
      actions={
        <Button kind="primary" onClick={() => void again()}>
          {words.again}
        </Button>
      }
    >
      <p>{words.expiredWhy}</p>
      <p role="status">{waiting && words.againWaiting}</p>
      <Problem error={error} />
    </Dialog>
  );
}
