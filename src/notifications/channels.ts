/** By which channels a notification goes out, decided from what is known of its type and its recipient. (docs/reference/notifications.md#channels.) */

/** The master switches of a type. */
export interface TypeSwitches {
  readonly emailEnabled: boolean;
  readonly pushEnabled: boolean;
  /** False: the type's defaults hold, whatever the user chose for it or for the application. */
  readonly userCanDisable: boolean;
  readonly defaultEmail: boolean;
  readonly defaultPush: boolean;
}

export interface RecipientSwitches {
  readonly active: boolean;
  /** `notificationsEnabled` of the application. */
  readonly application: boolean;
  /** What the user chose for the type; null where the type's default holds. */
  readonly email: boolean | null;
  readonly push: boolean | null;
  /** Whether a browser takes pushes for the user. */
  readonly subscribed: boolean;
}

export type Channels =
  | { readonly suppressed: 'user_inactive' | 'notifications_disabled' }
  | { readonly suppressed: null; readonly email: boolean; readonly push: boolean };

/** The channels that apply, or why the notification does not even reach the inbox. */
export function channelsFor(type: TypeSwitches, recipient: RecipientSwitches): Channels {
  if (!recipient.active) return { suppressed: 'user_inactive' };
  const chosen = type.userCanDisable ? recipient : { application: true, email: null, push: null };
  if (!chosen.application) return { suppressed: 'notifications_disabled' };
  return {
    suppressed: null,
    email: type.emailEnabled && (chosen.email ?? type.defaultEmail),
    push: type.pushEnabled && (chosen.push ?? type.defaultPush) && recipient.subscribed,
  };
}
