/** What the service and a rendering process say to each other. Plain data: it travels by structured clone. */

import { TEMPLATE_PART_NAMES, type TemplatePart, type TemplateWords } from '../../base/channels.ts';

/** The parts of a template that are Liquid. A part that is null is left out of what is rendered. */
export type TemplateSource = Readonly<TemplateWords>;
export type TemplateField = TemplatePart;

/** The parts in the order in which faults are told. */
export const TEMPLATE_FIELDS = TEMPLATE_PART_NAMES;

/** What templates can show of whom they are rendered for. */
export const USER_MEMBERS = ['email', 'firstName', 'lastName', 'displayName', 'locale'] as const;
export type UserMember = (typeof USER_MEMBERS)[number];

/**
 * The members of `user` that a template shows as they are, and does nothing else with; null when it may do anything. With none it
 * says the same to everybody.
 */
export type Shown = readonly UserMember[] | null;

/** Where a part of a template does not parse. */
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
  /** Stands at the top level and as `payload`. */
  readonly payload?: Readonly<Record<string, unknown>>;
  /** These win over members of the payload: `user`, `app`, `brand`, `locale`. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The subject is one line; a text that the template has none of is made from the HTML. */
export type Rendered = TemplateSource & { readonly text: string };

/**
 * A rendered job, or a sentence for the template's author that says why it could not be rendered. `bytes` is the size of `rendered`
 * as JSON in UTF-8: what storing it takes. The rendering process counts it, so that the service need not.
 */
export type RenderOutcome =
  | { readonly ok: true; readonly rendered: Rendered; readonly bytes: number }
  | { readonly ok: false; readonly problem: string };

export type ToProcess =
  | { readonly kind: 'check'; readonly template: TemplateSource }
  | { readonly kind: 'analyse'; readonly template: TemplateSource }
  /** `careful`: tell each outcome by itself, so that a job which ends the process is known. */
  | { readonly kind: 'render'; readonly jobs: readonly RenderJob[]; readonly careful: boolean };

export type FromProcess =
  | { readonly kind: 'ready' }
  | { readonly kind: 'checked'; readonly faults: readonly TemplateFault[] }
  | { readonly kind: 'analysed'; readonly shown: Shown }
  /** The outcomes of the next jobs, in their order. */
  | { readonly kind: 'rendered'; readonly outcomes: readonly RenderOutcome[] };
