/** The messages between the service and a rendering process: plain data, sent by structured clone. */

import { TEMPLATE_PART_NAMES, type TemplatePart, type TemplateWords } from '../../base/channels.ts';

/** The Liquid parts of a template. A null part is not rendered. */
export type TemplateSource = Readonly<TemplateWords>;
export type TemplateField = TemplatePart;

/** The parts in the order in which faults are reported. */
export const TEMPLATE_FIELDS = TEMPLATE_PART_NAMES;

/** The members of `user`, the recipient, in templates. */
export const USER_MEMBERS = ['email', 'firstName', 'lastName', 'displayName', 'locale', 'timezone'] as const;
export type UserMember = (typeof USER_MEMBERS)[number];

/** Members that a text may depend on where it does not show them: they never give way to a mark. */
export const MEMBERS_OF_SPEECH: readonly UserMember[] = ['locale', 'timezone'];

/**
 * The members of `user` that a template only outputs, unchanged, and the time zone where it writes dates. An empty list: the template is the same for every recipient. Null:
 * the template may use `user` in any way.
 */
export type PrintedMembers = readonly UserMember[] | null;

/** A syntax error in a part of a template. */
export interface TemplateFault {
  readonly field: TemplateField;
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  readonly message: string;
}

export interface RenderJob {
  readonly template: TemplateSource;
  /** Available at the top level and as `payload`. */
  readonly payload?: Readonly<Record<string, unknown>>;
  /** `user`, `app`, `brand` and `locale`; they take precedence over members of the payload. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The subject is one line. Without a text part, the text is made from the HTML. */
export type Rendered = TemplateSource & { readonly text: string };

/**
 * A rendered job, or the reason why it could not be rendered, for the template's author. `bytes` is the size of `rendered` as JSON in
 * UTF-8, as it is stored; the rendering process computes it to save the service the work.
 */
export type RenderOutcome =
  | { readonly ok: true; readonly rendered: Rendered; readonly bytes: number }
  | { readonly ok: false; readonly problem: string };

export type ToProcess =
  | { readonly kind: 'check'; readonly template: TemplateSource }
  | { readonly kind: 'analyze'; readonly template: TemplateSource }
  /** `careful`: send each outcome by itself, so that a job which kills the process can be identified. */
  | {
      readonly kind: 'render';
      readonly jobs: readonly RenderJob[];
      readonly careful: boolean;
      /** Of readers without their own. */
      readonly timezone: string;
    };

export type FromProcess =
  | { readonly kind: 'ready' }
  | { readonly kind: 'checked'; readonly faults: readonly TemplateFault[] }
  | { readonly kind: 'analyzed'; readonly printed: PrintedMembers }
  /** The outcomes of the next jobs, in their order. */
  | { readonly kind: 'rendered'; readonly outcomes: readonly RenderOutcome[] };
