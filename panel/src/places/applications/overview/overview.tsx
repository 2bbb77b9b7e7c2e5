import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../application.tsx';

export default function Overview({ appCode }: ViewProps) {
  const { overview: words } = useWords().applications;
  return (
    <p>
      {words.title} {appCode}
    </p>
  );
}
