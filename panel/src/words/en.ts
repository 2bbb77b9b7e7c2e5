/** The panel in English. Each place has its own words beside it; `cs.ts` must have the same members. */

import { activity } from '../places/activity/en.ts';
import { applications } from '../places/applications/en.ts';
import { ask } from '../places/ask/en.ts';
import { brands } from '../places/brands/en.ts';
import { home } from '../places/home/en.ts';
import { notifications } from '../places/notifications/en.ts';
import { people } from '../places/people/en.ts';
import { settings } from '../places/settings/en.ts';
import { signIn } from '../places/sign-in/en.ts';
import { session } from '../session/en.ts';
import { shell } from '../shell/en.ts';
import { plural } from './plural.ts';

const count = plural('en');

export const en = {
  locale: 'en',
  session,
  shell,
  home,
  applications,
  people,
  ask,
  activity,
  notifications,
  brands,
  signIn,
  settings,
  common: {
    save: 'Save',
    cancel: 'Cancel',
    close: 'Close',
    delete: 'Delete',
    edit: 'Edit',
    add: 'Add',
    remove: 'Remove',
    create: 'Create',
    apply: 'Apply',
    review: 'Review',
    undo: 'Undo',
    retry: 'Try again',
    reload: 'Reload',
    copy: 'Copy',
    copied: 'Copied',
    copyLink: 'Copy link',
    export: 'Export CSV',
    search: 'Search',
    filter: 'Filter',
    clear: 'Clear',
    all: 'All',
    none: 'None',
    yes: 'Yes',
    no: 'No',
    more: 'Show more',
    loading: 'Loading…',
    saving: 'Saving…',
    saved: 'Saved.',
    never: 'never',
    optional: 'optional',
    unknown: 'unknown',
    email: 'E-mail address',
    name: 'Name',
    code: 'Code',
    description: 'Description',
    application: 'Application',
    permission: 'Permission',
    role: 'Role',
    level: 'Level',
    record: 'Record',
    status: 'Status',
    actions: 'Actions',
    rows: (n: number) => count(n, { one: `${n} row`, other: `${n} rows` }),
    people: (n: number) => count(n, { one: `${n} person`, other: `${n} people` }),
    viewOnly: 'View only',
    viewOnlyWhy: 'You may read this. SuperAdmins and the administrators of the application may change it.',
    empty: 'Nothing here yet.',
    noMatch: 'Nothing matches the filter.',
    levels: { edit: 'edit', view: 'view', allowed: 'allowed', none: 'no access', denied: 'denied' },
    sources: {
      inactive: 'inactive',
      superadmin: 'SuperAdmin',
      app_admin: 'application admin',
      override: 'override',
      role: 'role',
      roles: 'roles',
      default: 'nothing grants it',
      none: 'nothing grants it',
    },
  },
  impact: {
    title: 'What this changes',
    asking: 'Asking who gains and who loses…',
    nobody: 'Nobody gains or loses access.',
    gained: (n: number) => count(n, { one: `${n} decision gained`, other: `${n} decisions gained` }),
    lost: (n: number) => count(n, { one: `${n} decision lost`, other: `${n} decisions lost` }),
    people: (n: number) => count(n, { one: `${n} person concerned`, other: `${n} people concerned` }),
    truncated: (n: number) => `The first ${n} changes are listed. The counts are exact.`,
    gainsEverywhere: 'Gains everything in every other application.',
    losesEverywhere: 'Loses everything in every other application.',
    stale: 'Somebody has changed this since you looked. Here is what your change would do now.',
    confirm: 'Apply',
    from: 'from',
    to: 'to',
  },
  problem: {
    title: 'That did not work',
    unreachable: 'Usher cannot be reached. What you typed is kept.',
    timeout: 'Usher did not answer in time.',
    forbidden: 'You may not do this. Your rights may have changed: reload to see what you may do.',
    notFound: 'This does not exist, or you may not see it.',
    stale: 'Somebody has changed this since you opened it.',
    undoStale: 'Somebody has changed this meanwhile. Nothing was undone.',
    undoStaleIn: (apps: string) => `Somebody has changed this meanwhile in ${apps}. Nothing was undone there.`,
    undoStalePartly: 'Somebody has changed this meanwhile. Only a part was undone.',
    crashed: 'This view failed. The rest of the panel works.',
    requestId: 'Request',
    retrying: 'Trying again…',
  },
};

/** What every language has. */
export type Text = typeof en;
