import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { AUDIT_ACTIONS, AUDIT_SENTENCES } from '../../src/base/audit-words.ts';
import { KINDS } from '../../src/catalog/manifest/steps.ts';
import { inWords } from '../../src/cli/audit-line.ts';
import type { AuditRecord } from '../../src/gen/api.ts';

/** Records of the audit in words (docs/reference/administration.md#audit). */
const SRC = resolve(import.meta.dirname, '../../src');

function sources(): string[] {
  return readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('gen/') && !file.startsWith('base/audit-'))
    .map((file) => readFileSync(join(SRC, file), 'utf8'));
}

/** Every action that the code writes, from the code: literals beside `action`, refusals of routes, and steps of manifests. */
function actionsOfTheCode(): string[] {
  const literal =
    /(?:\baction(?: =|:)|\bACTION =|'superadmin\.\w+'|refusal:)\s*(?:[^'\n]*\? )?'([a-z_]+\.[a-z_]+)(?:\.refused)?'(?: : '([a-z_]+\.[a-z_]+)')?/g;
  const found = sources().flatMap((text) => [...text.matchAll(literal)].flatMap(([, one, other]) => [one, other]));
  const steps = KINDS.flatMap((kind) => {
    const thing = kind === 'notificationType' ? 'notification_type' : kind;
    return ['created', 'changed', 'removed'].map((verb) => `${thing}.${verb}`);
  });
  const events = ['created', 'updated', 'deactivated', 'reactivated', 'removed'].map((event) => `user.${event}`);
  return [...new Set([...found, ...steps, ...events].filter((action) => action !== undefined))].toSorted();
}

/** Steps that no plan has: what is one thing is created or taken away. */
const NEVER = new Set(['admin.changed', 'assignment.changed', 'application.removed']);

function record(of: Partial<AuditRecord>): AuditRecord {
  return {
    id: 1,
    at: '2026-11-23T07:00:00.000Z',
    actor: 'user:ada@example.com',
    action: 'role.changed',
    appCode: null,
    subject: null,
    before: null,
    after: null,
    requestId: null,
    reason: null,
    ...of,
  };
}

describe('a record of the audit in words', () => {
  test('every action of the code has its words', () => {
    const actions = actionsOfTheCode();
    expect(actions.length).toBeGreaterThan(60);
    expect(actions.filter((action) => !NEVER.has(action) && AUDIT_ACTIONS[action] === undefined)).toEqual([]);
    expect(Object.keys(AUDIT_SENTENCES).filter((action) => AUDIT_ACTIONS[action] === undefined)).toEqual([]);
  });

  test.each(actionsOfTheCode())('%s names everything that it is about', (action) => {
    const long = 'x'.repeat(400);
    const about = { resourceType: 'ticket', resourceId: '42', role: 'agent', note: long };
    const text = inWords(
      record({ action, appCode: 'help-desk', subject: 'eva@example.com', after: about, reason: 'why not' }),
    );
    for (const part of ['eva@example.com', 'ticket:42', 'help-desk', long, 'why not']) expect(text).toContain(part);
    if (action.startsWith('assignment.')) expect(text).toContain('agent');
    expect(text).not.toMatch(/[{}[\]"]|undefined|\n/);
  });

  test('says of an override which record, which permission and what became of it', () => {
    const place = { resourceType: 'ticket', resourceId: '42' };
    const replaced = record({
      action: 'override.replaced',
      appCode: 'help-desk',
      subject: 'eva@example.com',
      before: { ...place, overrides: ['ticket.read: edit'] },
      after: { ...place, overrides: ['ticket.read: denied'] },
      reason: 'left the team',
    });
    expect(inWords(replaced)).toBe(
      'Overrides changed for eva@example.com on ticket:42 in help-desk: ticket.read: edit → denied (why: left the team)',
    );
    const single = { ...place, permission: 'ticket.read', granted: false, accessLevel: null };
    const made = { ...replaced, action: 'override.created.refused', before: null, after: single, reason: null };
    expect(inWords(made)).toBe(
      'Override made for eva@example.com on ticket:42 in help-desk (refused): ticket.read: denied',
    );
  });
});
