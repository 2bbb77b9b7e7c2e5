import { Page } from '../../parts/page.tsx';
import type { PanelConfig } from '../../session/config.ts';
import { useWords } from '../../words/words.ts';

export default function Home({ config }: { config: PanelConfig }) {
  const { home: words } = useWords();
  return <Page title={words.title}>{config.version}</Page>;
}
