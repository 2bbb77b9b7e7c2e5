import { lazy } from 'react';
import { Route, Switch } from 'wouter';

const ApplicationList = lazy(() => import('./application-list.tsx'));
const Application = lazy(() => import('./application.tsx'));

/** The registry of applications, and each of them. */
export default function Applications() {
  return (
    <Switch>
      <Route path="/applications" component={ApplicationList} />
      <Route path="/applications/:appCode/*?">
        {({ appCode }) => <Application key={appCode} appCode={decodeURIComponent(appCode)} />}
      </Route>
    </Switch>
  );
}
