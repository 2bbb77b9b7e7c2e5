import { Dialog } from '../../parts/dialog.tsx';
import { useWords } from '../../words/words.ts';

interface SendQuestionProps {
  readonly recipients: number;
  /** Variables without a value. */
  readonly empty: readonly string[];
  readonly onSend: () => void;
  readonly onClose: () => void;
}

/** Asks once before something goes to many, or with words missing. */
export default function SendQuestion({ recipients, empty, onSend, onClose }: SendQuestionProps) {
  const { notifications: words } = useWords();
  return (
    <Dialog
      title={words.sendQuestion(recipients)}
      onClose={onClose}
      act={{ label: words.sendNow(recipients), onAct: onSend }}
    >
      {empty.length > 0 && <p>{words.sendEmpty(empty.join(', '))}</p>}
      <p>{words.sendFinal}</p>
    </Dialog>
  );
}
