/**
 * What of its reader a template shows, and whether it only shows it. Such a template can be rendered once for many, with marks
 * where names and addresses belong (../merge.ts). Whatever is not plainly so is rendered for each reader.
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
import { type Shown, TEMPLATE_FIELDS, type TemplateSource, USER_MEMBERS, type UserMember } from './messages.ts';

/**
 * Filters that leave a name as it is, when it is not empty and nothing in it has to be escaped. The last is what the library calls
 * the one that escapes all output of HTML; no template can write it.
 */
const NEUTRAL: ReadonlySet<string> = new Set(['default', 'escape', 'strip', '[object Function]']);
/** Liquid's own parts of a source. */
const CODE = /\{\{[\s\S]*?\}\}|\{%[\s\S]*?%\}/g;
/** Filters that read an expression out of a text, or choose by chance. */
const OPAQUE = /_exp\b|\bsample\b/;
/** A variable that is named by the value of another one: a bracket that follows no name. */
const NAMED_BY_VALUE = /(?:^|[^\w\])"'?-])\[/;

/** Null, too, for a template that does not parse. */
export function shownOf(compiler: Compiler, template: TemplateSource): Shown {
  let compiled: Compiled;
  try {
    compiled = compiler.compiled(template);
  } catch {
    return null;
  }
  const shown = new Set<UserMember>();
  for (const field of TEMPLATE_FIELDS) {
    const [source, parsed] = [template[field], compiled[field]];
    if (source === null || parsed === null) continue;
    const plain = [...plainReferences(parsed)];
    // Each place that says `user` must be one of those: what is assigned, captured, filtered, compared or quoted is none. The
    // library is asked too, since it reads what a pattern can be fooled about.
    if (plain.length !== mentions(source) || plain.length !== references(parsed)) return null;
    for (const member of plain) shown.add(member);
  }
  return USER_MEMBERS.filter((member) => shown.has(member));
}

/** How often Liquid's parts of a source say `user` in any sense; infinitely often where they may do so without the word. */
function mentions(source: string): number {
  const code = source.match(CODE) ?? [];
  if (code.some((part) => OPAQUE.test(part) || NAMED_BY_VALUE.test(part))) return Number.POSITIVE_INFINITY;
  return code.reduce((sum, part) => sum + part.split('user').length - 1, 0);
}

/** How often the library finds `user` in it. It looks into no expression that is a text. */
function references(templates: Template[]): number {
  const { variables } = analyzeSync(templates, { partials: false });
  return Object.hasOwn(variables, 'user') ? (variables.user?.length ?? 0) : 0;
}

/** The members of `user` that are shown, or asked whether they are there: once for each place. */
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

/** The member of `user` that the value is, when it is nothing else. */
function memberOf({ initial, filters }: Value): UserMember | undefined {
  const [token, ...more] = initial.postfix;
  if (more.length > 0 || !TypeGuards.isPropertyAccessToken(token) || token.variable !== undefined) return undefined;
  if (!filters.every(({ name }) => NEUTRAL.has(name))) return undefined;
  const [root, member, ...deeper] = token.props;
  if (deeper.length > 0 || !TypeGuards.isWordToken(root) || root.content !== 'user') return undefined;
  if (!TypeGuards.isWordToken(member) && !TypeGuards.isQuotedToken(member)) return undefined;
  return USER_MEMBERS.find((known) => known === member.content);
}
