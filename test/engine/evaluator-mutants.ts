/** Evaluators with one mistake each, all of kinds that have been made somewhere: the exhaustive test must notice every one. */
import { DENIED, type evaluate as Evaluate, evaluate } from '../../src/engine/evaluate.ts';
import { type Decision, Level, Source } from '../../src/engine/types.ts';

type Evaluator = typeof Evaluate;

const NOBODY = { admin: false, roleIds: [] };
const edit = (source: Source): Decision => ({ granted: true, level: Level.EDIT, source, tiered: true });
const isByOverride = ({ source }: Decision) => source === Source.OVERRIDE;

export const EVALUATOR_MUTANTS: Readonly<Record<string, Evaluator>> = {
  'inactive users are answered': (person, ...rest) => evaluate({ ...person, active: true }, ...rest),
  'an inactive SuperAdmin is allowed': (person, ...rest) =>
    evaluate({ ...person, active: person.active || person.superadmin }, ...rest),
  'an inactive AppAdmin is allowed': (person, member, ...rest) =>
    evaluate({ ...person, active: person.active || member.admin }, member, ...rest),
  'a SuperAdmin is nobody': (person, ...rest) => evaluate({ ...person, superadmin: false }, ...rest),
  'a SuperAdmin has only what is defined': (person, member, permission, overrides) =>
    permission === undefined && person.superadmin ? DENIED : evaluate(person, member, permission, overrides),
  'a SuperAdmin holds a binary permission as allowed': (person, member, permission, overrides) => {
    const decision = evaluate(person, member, permission, overrides);
    const binary = decision.source === Source.SUPERADMIN && permission?.tiered === false;
    return binary ? { ...decision, level: Level.ALLOWED, tiered: false } : decision;
  },
  'AppAdmin before SuperAdmin': (person, member, ...rest) =>
    evaluate(member.admin ? { ...person, superadmin: false } : person, member, ...rest),
  'an AppAdmin is nobody': (person, member, ...rest) => evaluate(person, { ...member, admin: false }, ...rest),
  'an AppAdmin has only what is defined': (person, member, permission, overrides) =>
    evaluate(person, permission === undefined ? NOBODY : member, permission, overrides),
  'an AppAdmin is stopped by a denying override': (person, member, permission, overrides) => {
    const others = evaluate(person, { ...member, admin: false }, permission, overrides);
    return isByOverride(others) && !others.granted ? others : evaluate(person, member, permission, overrides);
  },
  'an AppAdmin holds a binary permission as edit': (person, ...rest) => {
    const decision = evaluate(person, ...rest);
    return decision.source === Source.APP_ADMIN ? edit(Source.APP_ADMIN) : decision;
  },
  'overrides do not count': (person, member, permission, _overrides) => evaluate(person, member, permission, null),
  'overrides count for global permissions': (person, member, permission, overrides) =>
    evaluate(person, member, permission && { ...permission, global: false }, overrides),
  'a granting override does not count': (person, member, permission, overrides) => {
    const decision = evaluate(person, member, permission, overrides);
    return isByOverride(decision) && decision.granted ? evaluate(person, member, permission, null) : decision;
  },
  'a denying override does not count': (person, member, permission, overrides) => {
    const decision = evaluate(person, member, permission, overrides);
    return isByOverride(decision) && !decision.granted ? evaluate(person, member, permission, null) : decision;
  },
  'an override only raises': (person, member, permission, overrides) => {
    const decision = evaluate(person, member, permission, overrides);
    const without = evaluate(person, member, permission, null);
    return isByOverride(decision) && without.level > decision.level ? without : decision;
  },
  'an override only lowers': (person, member, permission, overrides) => {
    const decision = evaluate(person, member, permission, overrides);
    const without = evaluate(person, member, permission, null);
    return isByOverride(decision) && without.level < decision.level ? without : decision;
  },
  'a granting override is edit': (person, ...rest) => {
    const decision = evaluate(person, ...rest);
    return isByOverride(decision) && decision.level === Level.VIEW ? edit(Source.OVERRIDE) : decision;
  },
  'a denying override names no source': (person, ...rest) => {
    const decision = evaluate(person, ...rest);
    return isByOverride(decision) && !decision.granted ? DENIED : decision;
  },
  'the first role counts': (person, member, ...rest) =>
    evaluate(person, { ...member, roleIds: member.roleIds.slice(0, 1) }, ...rest),
  'the last role counts': (person, member, ...rest) =>
    evaluate(person, { ...member, roleIds: member.roleIds.slice(-1) }, ...rest),
  'all roles of the application count': (person, member, permission, overrides) =>
    evaluate(person, { ...member, roleIds: [...(permission?.levels.keys() ?? [])] }, permission, overrides),
  'roles do not count': (person, member, ...rest) => evaluate(person, { ...member, roleIds: [] }, ...rest),
  'a binary permission compares levels': (person, ...rest) => ({ ...evaluate(person, ...rest), tiered: true }),
  'a tiered permission does not compare levels': (person, ...rest) => ({ ...evaluate(person, ...rest), tiered: false }),
};
