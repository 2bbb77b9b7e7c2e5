import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../application.tsx';

export default function Permissions({ appCode }: ViewProps) {
  const { permissions: words } = useWords().applications;
  return (
    <p>
      {words.title} {appCode}
    </p>
  );
}
