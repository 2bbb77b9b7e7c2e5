import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../application.tsx';

export default function History({ appCode }: ViewProps) {
  const { history: words } = useWords().applications;
  return (
    <p>
      {words.title} {appCode}
    </p>
  );
}
