import { plural } from '../../../words/formats.ts';

const count = plural('en');

export const overview = {
  title: 'Overview',
  facts: 'The application',
  people: 'People',
  roles: 'Roles',
  permissions: 'Permissions',
  admins: 'Administrators',
  languages: 'Languages',
  languagesHint: 'What notifications are written in. None chosen: any language.',
  anyLanguage: 'any language',
  strict: 'Strict codes',
  strictHint:
    'A question with a misspelt permission or record type is an error, not a denial. Off unless it is switched on, here as everywhere.',
  strictOn: 'Questions with unknown codes are refused.',
  strictOff: 'Questions with unknown codes are denied.',
  created: 'Created',
  changed: 'Changed',
  ask: 'Ask a question',
  askMe: 'May somebody do something here?',
  edit: 'Edit the application',
  stale: 'Somebody has changed the application since you opened it. What you typed is kept; this is what it is now:',
  saveAnyway: 'Save mine over it',
  delete: 'Remove the application',
  deleteTitle: (name: string) => `Remove ${name}`,
  deleteHint:
    'Everything in it is removed: roles, permissions, assignments, overrides, templates. Waiting notifications are not sent. This cannot be undone.',
  deleteConfirm: (code: string) => `Type ${code} to confirm`,
  deleteNext: 'See what it takes away',
  deleted: (name: string) => `${name} removed.`,
  adminsLead: 'They may do everything here, whatever roles and overrides say.',
  noAdmins: 'No administrators of its own: SuperAdmins look after it.',
  adminSince: 'since',
  addAdmin: 'Add an administrator',
  addAdminTitle: 'Make somebody an administrator',
  adminAdded: (email: string) => `${email} administers this application.`,
  removeAdmin: (email: string) => `Remove ${email}`,
  removeAdminTitle: 'Remove an administrator',
  removeYourself:
    'You are this administrator: afterwards you may no longer change this application, unless something else lets you.',
  adminRemoved: (email: string) => `${email} no longer administers this application.`,
  last: 'Last changes',
  all: 'All of the history',
  noChanges: 'Nothing has been changed yet.',
  more: (n: number) => count(n, { one: `${n} more`, other: `${n} more` }),
};
