import { Page } from '../../parts/page.tsx';
import { useWords } from '../../words/words.ts';

export default function Ask() {
  const { ask: words } = useWords();
  return <Page title={words.title}>{null}</Page>;
}
