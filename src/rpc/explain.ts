/** Explain: one question with the result of each of the six rules (docs/reference/decisions.md#explain). */

import { validationFailed } from '../base/errors.ts';
import type { ExplainedAt } from '../engine/explain.ts';
import { explainMalformed } from '../engine/explanation.ts';
import { fieldsIn, isAllowed, nameable, readQuestion } from '../engine/question.ts';
import type { Level } from '../engine/types.ts';
import { type ExplainResponseSchema, Rule } from '../gen/usher/permission/v1/permission_pb.ts';
import {
  type Call,
  type CheckFields,
  decided,
  logged,
  optionsOf,
  type PermissionEngine,
  type Rpc,
  readLevel,
  readRevision,
} from './call.ts';
import type { DecisionLog } from './decision-log.ts';

export interface ExplainFields {
  check?: CheckFields | undefined;
}

export interface ExplainAnswer extends ExplainedAt {
  readonly allowed: boolean;
}

async function ask(engine: PermissionEngine, { check }: ExplainFields, call: Call): Promise<ExplainAnswer> {
  if (check === undefined) throw validationFailed([{ path: 'check', message: 'is required' }]);
  const { naming } = call;
  const path = naming.message('check');
  const level = readLevel(check.accessLevel, `${path}.access_level`);
  const question = readQuestion(check, fieldsIn(path, naming.fields));
  const options = optionsOf(readRevision(check.minRevision), call);
  const explained = await engine.explain(question ?? nameable(check), options);
  const answer = question === null ? { ...explainMalformed(explained.known), revision: explained.revision } : explained;
  return { ...answer, allowed: isAllowed(answer.decision, level) };
}

function tell(log: DecisionLog, { check }: ExplainFields, answer: ExplainAnswer): void {
  if (check === undefined || !log.wants(answer.decision.source, answer.allowed)) return;
  log.decided('Explain', check, { ...answer, permission: check.permission, level: check.accessLevel as Level });
}

export const explain: Rpc<ExplainFields, ExplainAnswer, typeof ExplainResponseSchema> = {
  about: ({ check }) => (check === undefined ? [] : [check.app]),
  ask: logged(ask, tell),
  toMessage: ({ allowed, decision, revision, rules, override, roles, known }) => ({
    ...decided(decision, allowed),
    revision,
    rules: rules.map(({ applies, decides, level }, index) => {
      // The enum has the numbers of the rules.
      const rule = (index + 1) as Rule;
      return {
        rule,
        applies,
        decides,
        accessLevel: level,
        ...(rule === Rule.OVERRIDE && override !== null ? { overrideGranted: override.granted } : {}),
        ...(rule === Rule.ROLES ? { roles: roles.map((role) => ({ role: role.code, accessLevel: role.level })) } : {}),
      };
    }),
    userKnown: known.user,
    applicationKnown: known.application,
    permissionKnown: known.permission,
  }),
};
