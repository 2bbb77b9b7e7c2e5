import { Badge } from '../../parts/badge.tsx';
import { useWords } from '../../words/words.ts';
import css from './notifications.module.css';
import { toneOf } from './sends.ts';

/** Why something did not arrive, in words; `help` adds what to do about it. A code without words is shown as it is. */
export function Reason({ code, help = false }: { code: string; help?: boolean }) {
  const { notifications: words } = useWords();
  const [what, more] = words.reasons[code] ?? [code, ''];
  return (
    <span className={css.reason}>
      <span title={code}>{what}</span>
      {help && more !== '' && <span className={css.soft}>{more}</span>}
    </span>
  );
}

export function StatusBadge({ status }: { status: string }) {
  const { statuses } = useWords().notifications;
  return <Badge tone={toneOf(status)}>{statuses[status as keyof typeof statuses] ?? status}</Badge>;
}
