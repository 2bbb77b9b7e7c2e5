import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import { Empty, Page } from '../parts/page.tsx';
import type { PanelConfig } from '../session/config.ts';
import { useWords } from '../words/words.ts';
import { placeAt, titleOf } from './places.ts';
import { useRights } from './rights.ts';

/** A place by a direct link that is not the person's to see: words, and no request that the service would refuse. */
export function OnlyVisible({ config, children }: { config: PanelConfig; children: ReactNode }) {
  const words = useWords();
  const rights = useRights();
  const [path] = useLocation();
  const place = placeAt(path);
  if (place === undefined || place.visible(rights, config)) return children;
  return (
    <Page title={titleOf(place, words)}>
      <Empty title={words.problem.notFound} />
    </Page>
  );
}
