import { type ComponentType, lazy, Suspense } from 'react';
import { Route, Switch } from 'wouter';
import { Page, Tabs } from '../../parts/page.tsx';
import { Loading } from '../../parts/problem.tsx';
import type { PanelConfig } from '../../session/config.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import Own from './own.tsx';

/** Views of SuperAdmins. */
const VIEWS = {
  languages: lazy(async () => ({ default: (await import('./languages.tsx')).Languages })),
  superadmins: lazy(async () => ({ default: (await import('./superadmins.tsx')).SuperAdmins })),
  keys: lazy(async () => ({ default: (await import('./keys.tsx')).Keys })),
  configuration: lazy(async () => ({ default: (await import('./configuration.tsx')).Configuration })),
} satisfies Record<string, ComponentType>;
const NAMES = Object.keys(VIEWS) as (keyof typeof VIEWS)[];

/** What one chooses for oneself; for SuperAdmins also what holds for everybody. */
export default function Settings({ config }: { config: PanelConfig }) {
  const { settings: words } = useWords();
  const { isSuperAdmin } = useRights();
  return (
    <Page title={words.title} lead={`Usher ${config.version}`}>
      {isSuperAdmin && (
        <Tabs
          label={words.title}
          tabs={[['/settings', words.own], ...NAMES.map((name) => [`/settings/${name}`, words[name].title] as const)]}
        />
      )}
      <Suspense fallback={<Loading rows={6} />}>
        <Switch>
          {isSuperAdmin &&
            NAMES.map((name) => {
              const View = VIEWS[name];
              return (
                <Route key={name} path={`/settings/${name}`}>
                  <View />
                </Route>
              );
            })}
          <Route>
            <Own />
          </Route>
        </Switch>
      </Suspense>
    </Page>
  );
}
