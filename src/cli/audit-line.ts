/** A record of the audit in a line; loaded by the command that prints records. */

import { differencesOf } from '../base/audit-differences.ts';
import { actionOf, piecesOf } from '../base/audit-sentences.ts';
import { AUDIT_ACTIONS, AUDIT_SENTENCES } from '../base/audit-words.ts';
import type { AuditRecord } from '../gen/api.ts';

const WORDS = { actions: AUDIT_ACTIONS, sentences: AUDIT_SENTENCES, inApplication: 'in {app}' };

/** The actor as a reader knows them: people by their address. */
export function actorOf({ actor }: Pick<AuditRecord, 'actor'>): string {
  return actor.startsWith('user:') ? actor.slice('user:'.length) : actor;
}

/** One sentence that names everything that the record is about, what it changed, and why; never cut. */
export function inWords(record: AuditRecord): string {
  const pieces = piecesOf(record, WORDS);
  const sentence = pieces.map(({ text }) => text).join('');
  const at = pieces.find(({ place }) => place === 'record')?.text;
  const changes = differencesOf(record)
    .filter(({ name }) => !(name === 'role' || SAID.has(name)))
    .map(({ name, before, after }) => {
      // The sentence names the record already.
      const field = at === undefined ? name : name.replace(` · ${at}`, '');
      if (before === null || after === null) return `${field}: ${after ?? `${before} → nothing`}`;
      return `${field}: ${before} → ${after}`;
    });
  const { refused } = actionOf(record.action);
  return [
    sentence,
    refused ? ' (refused)' : '',
    changes.length === 0 ? '' : `: ${changes.join(', ')}`,
    record.reason === null ? '' : ` (why: ${record.reason})`,
  ].join('');
}

/** What the sentence itself names. */
const SAID: ReadonlySet<string> = new Set(['resourceType', 'resourceId']);
