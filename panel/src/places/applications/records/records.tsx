import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../application.tsx';

export default function Records({ appCode }: ViewProps) {
  const { records: words } = useWords().applications;
  return (
    <p>
      {words.title} {appCode}
    </p>
  );
}
