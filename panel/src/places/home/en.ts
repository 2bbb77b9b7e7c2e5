import { shell } from '../../shell/en.ts';
import { plural } from '../../words/formats.ts';

const count = plural('en');

export const home = {
  title: shell.places.home,
  mailbox: 'Development mailbox',
  needs: 'Needs attention',
  need: {
    failing: 'failed in 24 hours',
    waiting: 'waiting to be sent',
    brands: 'brands that cannot send',
    provider: 'Identity provider unreachable',
    comparison: 'People not compared with the provider',
    orphans: 'inactive, still with grants',
    ending: 'grants end within 7 days',
  },
  needWhy: {
    failing: () => 'Notifications that did not arrive, or only by one channel.',
    waiting: (ago: string | null) => `The oldest was accepted ${ago ?? ''}.`,
    brands: () => '',
    provider: (ago: string | null) => (ago === null ? 'It cannot be reached.' : `Its last event came ${ago}.`),
    comparison: (ago: string | null) => `The last comparison stopped ${ago ?? ''} and changed nothing more.`,
    ending: () => 'Roles, overrides and administrations. Extend them, or let them end.',
    orphans: () => 'People who would regain their rights when they are unblocked.',
  } satisfies Record<string, (ago: string | null) => string>,
  quiet: 'All quiet.',
  askSomething: 'Ask something.',
  questions: [
    'Why can Clara not open project 1042?',
    'May Ben close project 1042?',
    'Why can Dan not approve invoices?',
  ],
  anyQuestion: 'May somebody do something, and why?',
  counts: 'In numbers',
  count: {
    applications: (n: number) => count(n, { one: 'application', other: 'applications' }),
    people: (n: number) => count(n, { one: 'person', other: 'people' }),
    roles: (n: number) => count(n, { one: 'role', other: 'roles' }),
    permissions: (n: number) => count(n, { one: 'permission', other: 'permissions' }),
    appAdmins: (n: number) => count(n, { one: 'application admin', other: 'application admins' }),
    sent: (n: number) => count(n, { one: 'sent in 24 hours', other: 'sent in 24 hours' }),
  },
  changes: 'Last changes',
  changesOf: (app: string) => `Last changes in ${app}`,
  all: 'All',
  noChanges: 'Nothing was changed yet.',
  recents: 'Opened last',
  noRecents: 'Applications and people that you open are listed here, for this browser alone.',
  showTour: 'Show the tour again',
  own: 'What you may do',
  nothingOwn: 'No application has given you anything yet.',
  andMore: (n: number) => count(n, { one: `and ${n} more`, other: `and ${n} more` }),
  tour: {
    title: 'A tour in five steps',
    dismiss: 'Dismiss',
    steps: [
      { title: 'Ask a question', text: 'May Clara see the invoices? See the answer and the rule that decides it.' },
      {
        title: 'Find what would change it',
        text: 'The answer names the smallest changes that would turn a no into a yes.',
      },
      {
        title: 'Look at a role',
        text: 'The matrix shows what every role grants. Arrow keys move, space changes a cell.',
      },
      { title: 'See who gains before you save', text: 'Each change says who gains and who loses, before it is made.' },
      { title: 'Read what happened', text: 'Activity has every change, and who made it.' },
    ],
    done: 'Done',
    open: 'Show me',
  },
};
