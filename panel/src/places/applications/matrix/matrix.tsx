import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../application.tsx';

export default function Matrix({ appCode }: ViewProps) {
  const { matrix: words } = useWords().applications;
  return (
    <p>
      {words.title} {appCode}
    </p>
  );
}
