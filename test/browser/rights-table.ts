/**
 * Who is offered what in the panel: each address, and the controls there that write or lead to a write, with the kinds of people
 * who are shown them. A control that stands neither here nor in READING fails the test (panel-rights.browser.ts).
 */
import type { Kind } from './kinds.ts';

export const ROOT: readonly Kind[] = ['superadmin'];
export const WRITERS: readonly Kind[] = ['superadmin', 'appAdmin', 'edit'];
export const READERS: readonly Kind[] = [...WRITERS, 'view'];
export const EVERYBODY: readonly Kind[] = [...READERS, 'nobody'];

export interface Spot {
  readonly path: string;
  /** Whose place it is; the others read that it is not theirs. */
  readonly kinds: readonly Kind[];
  /** Role and accessible name, with `*` for what data says: who is shown the control. */
  readonly controls: Readonly<Record<string, readonly Kind[]>>;
}

/** Controls that ask, filter, copy, or keep something in this browser alone. */
export const READING: readonly string[] = [
  'button Search *',
  'button Inspect *',
  'button Keyboard shortcuts *',
  'button Sign out',
  'button change',
  'button Export CSV',
  'button Download',
  'button Copy *',
  'button Keep as assertion',
  'button Dismiss*',
  'button * more change*',
  'button Details: *',
  'button Why *',
  'button Show *',
  'button Compare two roles',
  'button Save as file',
  'button Start again from the example',
  'button Enabled',
  'button Inactive*',
  'button Everybody',
  'button Ending soon',
  'button * Failed',
  'button * Partly sent',
  'button * Sent',
  'button * Suppressed',
  'button * Under way',
  'button Mail',
  'button Push',
  'button Unsubscribe page',
  'button Light',
  'button Dark',
  'button * px',
  'button Clear*',
  // A reader drafts in the matrix, too, and copies the draft as a proposal.
  'button edit E',
  'button view V',
  'button no access Del',
  // The arrow of a list of suggestions.
  'button Suggestions*',
  'checkbox Unread only',
];

/** Controls of the table that write nothing themselves; what they lead to is offered, and used, elsewhere. */
export const LEADING: readonly string[] = [
  // A decision, and a permission of one's own, to ask about.
  'button *.*',
  'button *, *: *',
  'button Choose all that are listed',
  'button Find or add a person',
  'checkbox Send through a mail server of its own',
  'checkbox Compare with what is live',
  'checkbox Remove what is not named',
  // What has failed, what waits and a mail server are in panel-notifications and panel-brands.
  'button Retry what failed',
  'button Take back what waits',
  'button Test mail',
];

const LEVELS = { 'button Add people': WRITERS, 'button Roles of *': WRITERS, 'checkbox *@*': WRITERS };
const OVERRIDES = {
  'button New override': WRITERS,
  'button Edit *': WRITERS,
  'checkbox *': WRITERS,
};
const MESSAGES = {
  'button New type': WRITERS,
  'button Edit *': WRITERS,
  'button Remove the type *': WRITERS,
  'button New template: *': WRITERS,
};
const DRAFTS: Spot['controls'] = {
  // Whoever administers nothing chooses one of their own permissions to ask about.
  'button *.*': ['nobody'],
  'button Draft Give the role *': WRITERS,
  'button Draft Let the role *': WRITERS,
  'button Draft Make the person an administrator of atelier.': WRITERS,
  'button Draft Make the person a SuperAdmin.': ROOT,
};
const PERSON = { 'button New override': WRITERS, 'button Change roles': WRITERS, 'button Block': ROOT };
const atelier = (view: string, controls: Spot['controls']): Spot => {
  return { path: `/applications/atelier${view}`, kinds: READERS, controls };
};
const superAdmins = (path: string, controls: Spot['controls'] = {}): Spot => ({ path, kinds: ROOT, controls });

export const SPOTS: readonly Spot[] = [
  { path: '/', kinds: EVERYBODY, controls: {} },
  {
    path: '/applications',
    kinds: READERS,
    controls: { 'button New application': ROOT, 'button Paste a manifest': ROOT },
  },
  atelier('', {
    'button Edit': WRITERS,
    'button Remove': ROOT,
    'button Add': WRITERS,
    'button Remove *': WRITERS,
  }),
  atelier('/matrix', { 'button New role': WRITERS }),
  atelier('/matrix/designer', {
    'button Edit': WRITERS,
    'button Remove role': WRITERS,
    'button Add people': WRITERS,
    'button Choose all that are listed': WRITERS,
    'checkbox *': WRITERS,
  }),
  atelier('/permissions', { 'button New permission': WRITERS }),
  atelier('/permissions/project.access', { 'button Edit': WRITERS, 'button Remove permission': WRITERS }),
  atelier('/people', LEVELS),
  atelier('/records', OVERRIDES),
  atelier('/records/of/project/1042', OVERRIDES),
  atelier('/records/entities', {
    'button New entity': WRITERS,
    'button Edit *': WRITERS,
    'button Remove the entity *': WRITERS,
  }),
  atelier('/messages', MESSAGES),
  atelier('/messages/project-ready/default/en', { 'button Save': WRITERS }),
  atelier('/manifest', { 'checkbox Compare with what is live': WRITERS, 'checkbox Remove what is not named': WRITERS }),
  atelier('/history', {}),
  { path: '/people', kinds: READERS, controls: { 'button Find or add a person': WRITERS } },
  {
    path: '/people/ben%40example.com',
    kinds: READERS,
    controls: { ...PERSON, 'button Edit * on *': WRITERS, 'button Make application admin': WRITERS },
  },
  {
    path: '/people/ben%40example.com/profile',
    kinds: READERS,
    controls: {
      ...PERSON,
      'button Make application admin': WRITERS,
      'button Make SuperAdmin': ROOT,
      'button Name the account': ROOT,
      'button Forget the account': ROOT,
      'checkbox * application': WRITERS,
    },
  },
  { path: '/people/ben%40example.com/logins', kinds: READERS, controls: PERSON },
  { path: '/people/ben%40example.com/messages', kinds: READERS, controls: PERSON },
  { path: '/ask?app=atelier&email=ben%40example.com&permission=invoice.access', kinds: EVERYBODY, controls: DRAFTS },
  // A decision of the table is asked about in the sentence above it: nothing is sent.
  { path: '/playground', kinds: EVERYBODY, controls: { 'button *, *: *': EVERYBODY } },
  { path: '/activity', kinds: READERS, controls: {} },
  {
    path: '/notifications',
    kinds: READERS,
    controls: { 'button Retry what failed': WRITERS, 'button Take back what waits': WRITERS },
  },
  {
    path: '/notifications/send',
    kinds: READERS,
    controls: { 'button Send *': WRITERS },
  },
  { path: '/notifications/inbox', kinds: EVERYBODY, controls: {} },
  { path: '/notifications/preferences', kinds: EVERYBODY, controls: {} },
  { path: '/brands', kinds: READERS, controls: { 'button New brand': ROOT } },
  {
    path: '/brands/default',
    kinds: READERS,
    controls: {
      'button Test mail': ROOT,
      'button Logo from a file *': ROOT,
      'button Icon from a file *': ROOT,
      'checkbox Send through a mail server of its own': ROOT,
    },
  },
  superAdmins('/sign-in'),
  superAdmins('/sign-in/events'),
  superAdmins('/sign-in/organizations'),
  superAdmins('/sign-in/mails'),
  { path: '/settings', kinds: EVERYBODY, controls: { 'button Save': EVERYBODY } },
  superAdmins('/settings/languages', {
    'button New language': ROOT,
    'button Edit: *': ROOT,
    'button Remove: *': ROOT,
  }),
  superAdmins('/settings/superadmins', { 'button Add SuperAdmin': ROOT }),
  superAdmins('/settings/keys'),
  superAdmins('/settings/configuration'),
];
