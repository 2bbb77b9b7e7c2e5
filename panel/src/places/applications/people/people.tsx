import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../application.tsx';

export default function People({ appCode }: ViewProps) {
  const { people: words } = useWords().applications;
  return (
    <p>
      {words.title} {appCode}
    </p>
  );
}
