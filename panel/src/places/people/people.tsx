import { lazy } from 'react';
import { Route, Switch } from 'wouter';
import { emailOfPath } from './address.ts';

const PeopleList = lazy(() => import('./people-list.tsx'));
const Person = lazy(() => import('./person.tsx'));

/** Everybody, and each of them. */
export default function People() {
  return (
    <Switch>
      <Route path="/people" component={PeopleList} />
      <Route path="/people/:email/*?">
        {({ email }) => {
          const address = emailOfPath(location.pathname) ?? email;
          return <Person key={address} email={address} />;
        }}
      </Route>
    </Switch>
  );
}
