/** Chooses the channels of a notification by the switches of its type and its recipient (docs/reference/notifications.md#channels). */

import {
  CHANNEL_FIELDS,
  type ChannelName,
  type DefaultField,
  type EnabledField,
  perChannel,
} from '../base/channels.ts';
import { CHANNELS } from '../delivery/channels.ts';

/** The switches of a type. */
export interface TypeSwitches extends Readonly<Record<EnabledField | DefaultField, boolean>> {
  /** False: the type's defaults apply, whatever the user chose for the type or the application. */
  readonly userCanDisable: boolean;
}

/** The user's choice for the type, by channel; null for the type's default. */
type Choices = Readonly<Record<ChannelName, boolean | null>>;

export interface RecipientSwitches extends Choices {
  readonly active: boolean;
  /** `notificationsEnabled` of the application. */
  readonly application: boolean;
  /** Whether the user has a push subscription. */
  readonly subscribed: boolean;
}

export type Channels =
  | { readonly suppressed: 'user_inactive' | 'notifications_disabled' }
  | ({ readonly suppressed: null } & Readonly<Record<ChannelName, boolean>>);

const UNCHOSEN = { application: true, ...perChannel(() => null) };

/** The channels that apply, or the reason why the notification is suppressed and does not reach the inbox. */
export function channelsFor(type: TypeSwitches, recipient: RecipientSwitches): Channels {
  if (!recipient.active) return { suppressed: 'user_inactive' };
  const chosen = type.userCanDisable ? recipient : UNCHOSEN;
  if (!chosen.application) return { suppressed: 'notifications_disabled' };
  const applies = perChannel((name) => {
    const fields = CHANNEL_FIELDS[name];
    const on = chosen[name] ?? type[fields.default];
    return type[fields.enabled] && on && CHANNELS[name].reaches(recipient);
  });
  return { suppressed: null, ...applies };
}
