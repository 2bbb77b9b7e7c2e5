import { lazy } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { Page } from '../../parts/page.tsx';
import { UnknownView } from '../../parts/unknown-view.tsx';
import type { PanelConfig } from '../../session/config.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import Log from './log.tsx';

const Send = lazy(() => import('./send.tsx'));
const Inbox = lazy(() => import('./inbox.tsx'));
const Preferences = lazy(() => import('./preferences.tsx'));
const Notification = lazy(() => import('./notification.tsx'));

/** The log of what was sent, and what the reader was sent. Whoever administers nothing has the latter only. */
export default function Notifications({ config }: { config: PanelConfig }) {
  const { any } = useRights();
  const { notifications: words } = useWords();
  return (
    <Switch>
      <Route path="/notifications">
        {any ? <Log mailbox={config.mailbox} /> : <Redirect to="/notifications/inbox" replace />}
      </Route>
      <Route path="/notifications/inbox" component={Inbox} />
      <Route path="/notifications/preferences" component={Preferences} />
      <Route path="/notifications/send" component={Send} />
      <Route path="/notifications/:appCode/:id">
        {({ appCode, id }) => <Notification key={`${appCode}/${id}`} appCode={decodeURIComponent(appCode)} id={id} />}
      </Route>
      <Route>
        <Page title={words.title}>
          <UnknownView />
        </Page>
      </Route>
    </Switch>
  );
}
