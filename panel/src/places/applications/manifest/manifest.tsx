import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../application.tsx';

export default function Manifest({ appCode }: ViewProps) {
  const { manifest: words } = useWords().applications;
  return (
    <p>
      {words.title} {appCode}
    </p>
  );
}
