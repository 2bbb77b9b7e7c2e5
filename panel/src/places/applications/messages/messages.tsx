import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../application.tsx';

export default function Messages({ appCode }: ViewProps) {
  const { messages: words } = useWords().applications;
  return (
    <p>
      {words.title} {appCode}
    </p>
  );
}
