import { UsherError } from '../../src/base/errors.ts';
import { type Decision, Level, type Question, Source } from '../../src/engine/types.ts';
import { ScriptedEngine } from '../grpc/scripted-engine.ts';
import type { Names } from './calls.ts';

/** What a port over this engine knows. */
export const SCRIPTED_NAMES: Names = {
  key: 'the-key-of-a-backend',
  emails: ['ann@example.com', 'b@example.com', 'zoë@example.com', 'none'],
  apps: ['shop', 'billing'],
  permissions: ['edit', 'view', 'allowed', 'denied', 'nothing', 'cold'],
};

/** Answers at once but for one permission. */
export class HalfWarmEngine extends ScriptedEngine {
  override items = ['edit', 'view'].map((code) => ({
    code,
    tiered: true,
    groupName: null,
    global: false,
    level: Level.VIEW,
    granted: true,
    source: Source.ROLE,
  }));

  override peekFacts(question: Question): Decision | null {
    return question.permission === 'cold' ? null : super.peekFacts(question);
  }
}

export function authorizeScripted(key: string | undefined): undefined {
  if (key !== SCRIPTED_NAMES.key) throw new UsherError('UNAUTHENTICATED', 'Unknown internal API key.');
}
