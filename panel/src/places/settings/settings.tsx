import { Page } from '../../parts/page.tsx';
import type { PanelConfig } from '../../session/config.ts';
import { useWords } from '../../words/words.ts';

export default function Settings({ config }: { config: PanelConfig }) {
  const { settings: words } = useWords();
  return <Page title={words.title}>{config.version}</Page>;
}
