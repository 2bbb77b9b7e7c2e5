/**
 * What people type where nobody expected it: every text that no grammar bounds as long as it may be, from right to left, in emoji
 * and as a script, and codes, addresses and ids as long as their grammar lets them be. For the pictures of screenshots.ts and for
 * panel-hard.browser.ts. Demands the demonstration (`makeDemo`), whose records it overwrites.
 */
import type { RunningUsher } from '../support/usher.ts';
import { administer } from './panel-world.ts';

const SCRIPT = `<script>document.title = 'hit'</script><img src=x onerror="document.title = 'hit'">`;
const RIGHT_TO_LEFT = 'مشروع الفواتير (2026) والتصميم — שלום עולם!';
const EMOJI = '👩‍👩‍👧‍👦🏳️‍🌈🇨🇿 Ateliér 🎨';

/** A text of each kind in turn, cut to `max` code points. */
export function hardText(at: number, max = 200): string {
  const all = [
    SCRIPT,
    RIGHT_TO_LEFT,
    EMOJI,
    `${'Unbreakable'.repeat(30)}`,
    `${'Many words of a long name '.repeat(90)}`,
    // An override without its end turns what follows around, where it is not isolated.
    `\u202Eabc ${RIGHT_TO_LEFT.repeat(8)}`,
  ];
  return Array.from(all[at % all.length] ?? '')
    .slice(0, max)
    .join('')
    .trim();
}

export const LONG_ROLE = `role-${'r'.repeat(59)}`;
export const LONG_PERMISSION = `${'permission'.repeat(12)}.access`;
export const LONG_ADDRESS = `${'l'.repeat(64)}@${`${'h'.repeat(59)}.`.repeat(3)}example`;
const RECORDS = ['1042', RIGHT_TO_LEFT, EMOJI, SCRIPT, 'r'.repeat(256)];
const PEOPLE = ['ada', 'ben', 'clara', 'dan', 'nora'].map((name) => `${name}@example.com`);
const GRANTED = ['project.access', 'document.access', 'invoice.access'];

/** 500 roles, and every text of the demonstration replaced by a hard one. */
export async function makeHard(usher: RunningUsher): Promise<void> {
  for (const [at, email] of PEOPLE.entries()) {
    const names = { firstName: hardText(at), lastName: hardText(at + 1), displayName: hardText(at) };
    await administer(usher, 'PUT /api/profile/me', names, email);
  }
  for (const at of [0, 1, 2, 3, 4, 5]) {
    const application = { code: at === 3 ? 'c'.repeat(64) : `hard-${at}`, name: hardText(at) };
    await administer(usher, 'POST /api/applications', { ...application, description: hardText(at + 1, 2_000) });
    const brand = {
      slug: at === 3 ? 'b'.repeat(64) : `hard-${at}`,
      name: hardText(at),
      emailFromName: hardText(at + 1),
    };
    await administer(usher, 'POST /api/admin/brands', brand);
  }
  await administer(usher, 'PUT /api/languages/ar', { name: hardText(1), nativeName: hardText(5) });
  await administer(usher, 'PUT /api/languages/he', { name: hardText(0), nativeName: hardText(3) });
  await administer(usher, 'POST /api/manifests/apply', hardManifest());
  for (const [at, text] of [0, 1, 2, 3, 4, 5].entries()) {
    await administer(usher, 'POST /api/applications/atelier/notifications', {
      recipients: ['admin@example.com', ...PEOPLE, ...(at === 0 ? [LONG_ADDRESS] : [])],
      subject: hardText(text),
      body: hardText(text + 1, 2_000),
    });
  }
}

const TIERED = ['project.access', 'document.access', 'invoice.access', 'workspace.settings', LONG_PERMISSION];

function hardManifest() {
  const entities = ['project', 'document', 'e'.repeat(64)];
  const permissions = [...TIERED, 'project.archive', 'invoice.approve', 'report.export'];
  const types = ['project-ready', 'invoice-due', 't'.repeat(64)];
  return {
    application: { code: 'atelier', name: `${hardText(0, 60)} ${hardText(5, 139)}`, description: hardText(4, 2_000) },
    entities: entities.map((code, at) => ({
      code,
      name: hardText(at),
      description: hardText(at + 1, 2_000),
      idLabel: hardText(at + 2),
    })),
    permissions: permissions.map((code, at) => ({
      code,
      type: at < TIERED.length ? 'tiered' : 'binary',
      groupName: hardText(Math.floor(at / 2)),
      description: hardText(at, 2_000),
      global: code === 'report.export',
    })),
    roles: [
      'director',
      'designer',
      'accountant',
      'guest',
      LONG_ROLE,
      ...Array.from({ length: 495 }, (_, at) => `role-${at}-${'x'.repeat(at % 50)}`.replace(/-$/, '')),
    ].map((code, at) => ({
      code,
      description: hardText(at, 2_000),
      permissions: { 'project.access': 'view', ...(at % 2 === 0 ? { [LONG_PERMISSION]: 'edit' } : {}) },
    })),
    notificationTypes: types.map((code, at) => ({
      code,
      name: hardText(at + 3),
      description: hardText(at, 2_000),
      emailFromName: hardText(at + 1),
    })),
    templates: types.map((type, at) => ({
      type,
      locale: 'en',
      subject: hardText(at),
      html: `<p dir="auto">${hardText(at + 1, 2_000)}</p>`,
      requiredVariables: [hardText(3, 128), hardText(1)],
    })),
    admins: ['nora@example.com', LONG_ADDRESS],
    assignments: PEOPLE.map((email) => ({
      email,
      roles: ['designer', LONG_ROLE, 'role-49-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'],
    })),
    overrides: RECORDS.flatMap((resourceId, at) =>
      ['clara@example.com', LONG_ADDRESS].map((email) => ({
        email,
        resourceType: entities[at % 3],
        resourceId,
        permission: GRANTED[at % 3],
        granted: at % 2 === 1,
      })),
    ),
  };
}
