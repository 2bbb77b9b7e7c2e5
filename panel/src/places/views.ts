/** The view at each address. A place's view names all places whose words it shows, its own and those of parts that it borrows. */

import { type OnDemand, onDemand } from '../parts/on-demand.ts';

export const Home = onDemand(() => import('./home/home.tsx'), 'home', 'people', 'activity');
export const ApplicationList = onDemand(() => import('./applications/application-list.tsx'), 'applications');
export const Application = onDemand(() => import('./applications/application.tsx'), 'applications', 'activity');
export const PeopleList = onDemand(() => import('./people/people-list.tsx'), 'people');
export const Person = onDemand(() => import('./people/person.tsx'), 'people', 'activity');
export const Ask = onDemand(() => import('./ask/ask.tsx'), 'ask');
export const Playground = onDemand(() => import('./ask/playground.tsx'), 'ask');
export const Activity = onDemand(() => import('./activity/activity.tsx'), 'activity');
export const Notifications = onDemand(() => import('./notifications/notifications.tsx'), 'notifications');
export const Mailbox = onDemand(() => import('./mailbox/mailbox.tsx'), 'mailbox');
export const Brands = onDemand(() => import('./brands/brands.tsx'), 'brands');
export const SignInPlace = onDemand(() => import('./sign-in/sign-in.tsx'), 'signIn');
export const Settings = onDemand(() => import('./settings/settings.tsx'), 'settings', 'people');

const VIEWS: readonly (readonly [address: RegExp, view: Pick<OnDemand<never>, 'preload'>])[] = [
  [/^\/$/, Home],
  [/^\/applications\/?$/, ApplicationList],
  [/^\/applications\//, Application],
  [/^\/people\/?$/, PeopleList],
  [/^\/people\//, Person],
  [/^\/ask\b/, Ask],
  [/^\/playground$/, Playground],
  [/^\/activity$/, Activity],
  [/^\/notifications\b/, Notifications],
  [/^\/mailbox\b/, Mailbox],
  [/^\/brands\b/, Brands],
  [/^\/sign-in\b/, SignInPlace],
  [/^\/settings\b/, Settings],
];

/** Loads the view at a path below `/panel` before it is drawn. Where that fails, drawing it tries again and says what is wrong. */
export async function preloadView(path: string): Promise<void> {
  await VIEWS.find(([address]) => address.test(path))?.[1]
    .preload()
    .catch(() => undefined);
}
