/**
 * Finds the members of `user` that a template only outputs. Such a template can be rendered once for many recipients, with marks in the
 * places of names and addresses (../merge.ts). In case of doubt it is rendered for each recipient.
 */

import {
  analyzeSync,
  CaseTag,
  ForTag,
  IfTag,
  Output,
  type Template,
  TypeGuards,
  UnlessTag,
  type Value,
} from 'liquidjs';
import type { Compiled, Compiler } from './liquid.ts';
import {
  type PrintedMembers,
  TEMPLATE_FIELDS,
  type TemplateSource,
  USER_MEMBERS,
  type UserMember,
} from './messages.ts';

/**
 * Filters that do not change a name that is not empty and needs no escaping. The last is the library's name of the filter that escapes
 * all output of HTML; a template cannot name it.
 */
const NEUTRAL: ReadonlySet<string> = new Set(['default', 'escape', 'strip', '[object Function]']);
/** The outputs and tags in a source. */
const CODE = /\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/g;
/** Filters that read an expression from a text, or choose at random. */
const OPAQUE = /_exp\b|\bsample\b/;
/** A variable named by the value of another one: a bracket without a name before it. */
const NAMED_BY_VALUE = /(?:^|[^\w\])"'?-])\[/;

/** The members that the template only outputs; null for other uses, and for a template that does not parse. */
export function printedMembersOf(compiler: Compiler, template: TemplateSource): PrintedMembers {
  let compiled: Compiled;
  try {
    compiled = compiler.compiled(template);
  } catch {
    return null;
  }
  const printed = new Set<UserMember>();
  for (const field of TEMPLATE_FIELDS) {
    const [source, parsed] = [template[field], compiled[field]];
    if (source === null || parsed === null) continue;
    const plain = [...plainReferences(parsed)];
    // Each mention of `user` must be a plain reference, not assigned, captured, filtered, compared or quoted. Both the pattern and
    // the library count: the library parses what could mislead a pattern.
    if (plain.length !== mentions(source) || plain.length !== references(parsed)) return null;
    for (const member of plain) printed.add(member);
    if (writesDates(source)) printed.add('timezone');
  }
  return USER_MEMBERS.filter((member) => printed.has(member));
}

/** Whether it may use a filter of dates, whose outcome differs from one time zone to another. */
function writesDates(source: string): boolean {
  return (source.match(CODE) ?? []).some((part) => part.includes('date'));
}

/** How often the outputs and tags contain `user`; infinity where they may refer to it without the word. */
function mentions(source: string): number {
  const code = source.match(CODE) ?? [];
  if (code.some((part) => OPAQUE.test(part) || NAMED_BY_VALUE.test(part))) return Number.POSITIVE_INFINITY;
  return code.reduce((sum, part) => sum + part.split('user').length - 1, 0);
}

/** How often the library finds `user`. It does not parse expressions inside strings. */
function references(templates: Template[]): number {
  const { variables } = analyzeSync(templates, { partials: false });
  return Object.hasOwn(variables, 'user') ? (variables.user?.length ?? 0) : 0;
}

/** The members of `user` that are output or tested for presence, once for each place. */
function* plainReferences(templates: readonly Template[]): Generator<UserMember> {
  for (const template of templates) {
    if (template instanceof Output) {
      const member = memberOf(template.value);
      if (member !== undefined) yield member;
    } else if (template instanceof IfTag || template instanceof UnlessTag) {
      for (const branch of template.branches) {
        const member = memberOf(branch.value);
        if (member !== undefined) yield member;
        yield* plainReferences(branch.templates);
      }
      yield* plainReferences(template.elseTemplates ?? []);
    } else if (template instanceof ForTag) {
      yield* plainReferences(template.templates);
      yield* plainReferences(template.elseTemplates ?? []);
    } else if (template instanceof CaseTag) {
      for (const branch of template.branches) yield* plainReferences(branch.templates);
      yield* plainReferences(template.elseTemplates ?? []);
    }
  }
}

/** The member of `user` that the value refers to, if it is nothing but that. */
function memberOf({ initial, filters }: Value): UserMember | undefined {
  const [token, ...more] = initial.postfix;
  if (more.length > 0 || !TypeGuards.isPropertyAccessToken(token) || token.variable !== undefined) return undefined;
  if (!filters.every(({ name }) => NEUTRAL.has(name))) return undefined;
  const [root, member, ...deeper] = token.props;
  if (deeper.length > 0 || !TypeGuards.isWordToken(root) || root.content !== 'user') return undefined;
  if (!TypeGuards.isWordToken(member) && !TypeGuards.isQuotedToken(member)) return undefined;
  return USER_MEMBERS.find((known) => known === member.content);
}
