import { useState } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../../../parts/dialog.tsx';
import { TextField } from '../../../parts/field.tsx';
import { ImpactReview } from '../../../parts/impact.tsx';
import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../view-props.ts';

interface DeleteApplicationProps {
  readonly application: ViewProps['application'];
  readonly onClose: () => void;
}

/** Asks for the code first, then shows who loses what. */
export function DeleteApplication({ application: { code, name }, onClose }: DeleteApplicationProps) {
  const { applications } = useWords();
  const words = applications.overview;
  const [typed, setTyped] = useState('');
  const [reviewing, setReviewing] = useState(false);
  const [, navigate] = useLocation();
  if (reviewing) {
    return (
      <ImpactReview
        title={words.deleteTitle(name)}
        operation="DELETE /api/applications/{appCode}"
        input={{ path: { appCode: code } }}
        summary={<p>{words.deleteHint}</p>}
        confirm={words.delete}
        danger
        done={words.deleted(name)}
        // What is on the screen is gone: asked for again it would be a 404.
        refreshes={['GET /api/applications', 'GET /api/admin/overview']}
        onClose={onClose}
        onDone={() => navigate('/applications')}
      />
    );
  }
  return (
    <Dialog
      title={words.deleteTitle(name)}
      onClose={onClose}
      act={{ label: words.deleteNext, danger: true, disabled: typed !== code && words.deleteConfirm(code) }}
      onSubmit={() => {
        if (typed === code) setReviewing(true);
      }}
    >
      <p>{words.deleteHint}</p>
      <TextField label={words.deleteConfirm(code)} value={typed} onText={setTyped} autoFocus />
    </Dialog>
  );
}
