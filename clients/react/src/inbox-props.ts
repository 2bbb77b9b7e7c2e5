import type { InboxLabels } from './labels.ts';
import type { InboxItem } from './types.ts';

export interface InboxProps {
  /** Replaces words: `{ title: 'Messages' }`. English ones stand for the others. */
  readonly labels?: Partial<InboxLabels> | undefined;
  /** Added to the class of the outermost element. */
  readonly className?: string | undefined;
  /** Called when a person follows the link of a notification. A call of `event.preventDefault()` leaves the way there to the application. */
  readonly onFollow?: ((item: InboxItem, event: { preventDefault: () => void }) => void) | undefined;
}
