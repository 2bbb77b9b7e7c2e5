/** The channels in REST: a field for each, named after it (base/channels.ts). */

import { CHANNEL_FIELDS, CHANNEL_NAMES, type EnabledField } from '../../base/channels.ts';
import { CHANNELS, type ChannelKind } from '../../delivery/channels.ts';

/** The master switch of each channel; `schemaOf` is given the channel's words for the documentation. */
export function eachEnabled<Schema>(
  schemaOf: (documented: ChannelKind<unknown>['documented']) => Schema,
): Record<EnabledField, Schema> {
  return Object.fromEntries(
    CHANNEL_NAMES.map((name) => [CHANNEL_FIELDS[name].enabled, schemaOf(CHANNELS[name].documented)]),
  ) as Record<EnabledField, Schema>;
}
