/** By which channels a notification goes out, decided from what is known of its type and its recipient. (docs/reference/notifications.md#channels.) */

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
  /** False: the type's defaults hold, whatever the user chose for it or for the application. */
  readonly userCanDisable: boolean;
}

/** By channel, what the user chose for the type; null where the type's default holds. */
type Choices = Readonly<Record<ChannelName, boolean | null>>;

export interface RecipientSwitches extends Choices {
  readonly active: boolean;
  /** `notificationsEnabled` of the application. */
  readonly application: boolean;
  /** Whether a browser takes pushes for the user. */
  readonly subscribed: boolean;
}

export type Channels =
  | { readonly suppressed: 'user_inactive' | 'notifications_disabled' }
  | ({ readonly suppressed: null } & Readonly<Record<ChannelName, boolean>>);

const UNCHOSEN = { application: true, ...perChannel(() => null) };

/** The channels that apply, or why the notification does not even reach the inbox. */
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
