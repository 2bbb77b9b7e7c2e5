/** Spans of statements (docs/guides/tracing.md): by name, else by command and first table. Never the text, and never a value. */

import { type Attributes, childSpan, markFailed, recordingSpan, type Span, SpanKind } from '../../base/tracing.ts';
import { preparedName } from './dialect.ts';
import { StatementFailed } from './failures.ts';

const COMMAND = /^\s*(\w+)/;
const TABLE = /\b(?:from|into|update) "?(\w+)/i;

/** Null unless this work is recorded. */
export function statementSpan(text: string, name = preparedName(text)): Span | null {
  if (recordingSpan() === null) return null;
  const command = COMMAND.exec(text)?.[1]?.toLowerCase() ?? 'statement';
  const table = TABLE.exec(text)?.[1];
  const summary = name ?? (table === undefined ? command : `${command} ${table}`);
  const attributes: Attributes = {
    'db.system.name': 'postgresql',
    'db.operation.name': command,
    'db.query.summary': summary,
  };
  return childSpan(summary, { kind: SpanKind.CLIENT, attributes });
}

/** Says of a failed one what the server said, in its five characters. */
export function statementEnds(span: Span | null, failed?: Error): void {
  if (span === null) return;
  if (failed !== undefined) {
    const state = (failed instanceof StatementFailed ? failed.sqlState : null) ?? 'lost';
    span.setAttribute('db.response.status_code', state);
    markFailed(span, state);
  }
  span.end();
}
