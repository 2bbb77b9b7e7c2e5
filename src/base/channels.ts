/**
 * The names of the notification channels and of their fields. delivery/channels.ts has their behavior. All fields of types, people and
 * manifests about channels are derived from this list.
 */

import { keysOf } from './own-keys.ts';

const fieldsOf = <Name extends string>(name: Name) => ({
  /** The application's master switch. */
  enabled: `${name}Enabled` as const,
  /** The switch of a person who has not chosen. */
  default: `default${name.charAt(0).toUpperCase()}${name.slice(1)}` as `default${Capitalize<Name>}`,
});

/** The fields of a notification type for each channel, as REST, manifests and audit records call them. */
export const CHANNEL_FIELDS = { email: fieldsOf('email'), push: fieldsOf('push') } as const;

export type ChannelName = keyof typeof CHANNEL_FIELDS;
export type EnabledField = (typeof CHANNEL_FIELDS)[ChannelName]['enabled'];
export type DefaultField = (typeof CHANNEL_FIELDS)[ChannelName]['default'];
/** The boolean switches of a notification type. */
export type TypeSwitch = EnabledField | DefaultField | 'userCanDisable' | 'selfServiceEnabled';

export const CHANNEL_NAMES = keysOf(CHANNEL_FIELDS);
export const ENABLED_FIELDS: readonly EnabledField[] = CHANNEL_NAMES.map((name) => CHANNEL_FIELDS[name].enabled);
export const DEFAULT_FIELDS: readonly DefaultField[] = CHANNEL_NAMES.map((name) => CHANNEL_FIELDS[name].default);

/** Every switch of a type, in the order in which they are listed. Each is true by default. */
export const TYPE_SWITCHES: readonly TypeSwitch[] = [
  ...ENABLED_FIELDS,
  'userCanDisable',
  ...DEFAULT_FIELDS,
  'selfServiceEnabled',
];

/** The switches of a system type that cannot be changed (docs/reference/administration.md#the-systems-own-records). */
export const FIXED_SWITCHES: readonly TypeSwitch[] = [...ENABLED_FIELDS, 'userCanDisable', 'selfServiceEnabled'];

/** The parts of a template, and the longest length of each in code points. */
export const TEMPLATE_PARTS = {
  subject: 1000,
  html: 1024 * 1024,
  text: 1024 * 1024,
  pushTitle: 1000,
  pushBody: 4000,
  url: 2048,
} as const;
export type TemplatePart = keyof typeof TEMPLATE_PARTS;
export const TEMPLATE_PART_NAMES = keysOf(TEMPLATE_PARTS);

/** Every template has a subject and a body. */
type RequiredPart = 'subject' | 'html';
export type OptionalPart = Exclude<TemplatePart, RequiredPart>;
export const OPTIONAL_PARTS = TEMPLATE_PART_NAMES.filter((part) => part !== 'subject' && part !== 'html');

/** For the documentation of REST and of manifests. */
export const OPTIONAL_PART_DESCRIPTIONS: Readonly<Record<OptionalPart, string>> = {
  text: 'Without it, the text is made from the HTML.',
  pushTitle: 'Without it, a push has the subject as its title.',
  pushBody: 'Without it, a push says what the text says.',
  url: 'Where a push or an entry of the inbox leads.',
};

export type TemplateWords = Record<RequiredPart, string> & Record<OptionalPart, string | null>;

/** A record with these fields. */
export function recordOf<Field extends string, Value>(
  fields: readonly Field[],
  make: (field: Field) => Value,
): Record<Field, Value> {
  const record = {} as Record<Field, Value>;
  for (const field of fields) record[field] = make(field);
  return record;
}

/** Of a record, these fields alone. */
export function only<From, Field extends keyof From>(from: From, fields: readonly Field[]): Pick<From, Field> {
  return Object.fromEntries(fields.map((field) => [field, from[field]])) as Pick<From, Field>;
}

/** A value for each channel. */
export function perChannel<Value>(make: (name: ChannelName) => Value): Record<ChannelName, Value> {
  return recordOf(CHANNEL_NAMES, make);
}
