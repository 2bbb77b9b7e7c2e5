/** The inbox of the person, for a bell of one's own. */

import { useCallback, useMemo, useSyncExternalStore } from 'react';
import { EMPTY_INBOX } from './inbox-store.ts';
import { useClient } from './provider.tsx';
import type { InboxState } from './types.ts';

export interface UseInbox extends InboxState {
  /** Reads the next older page. Never rejects, as all of these: `error` says what failed. */
  readonly loadMore: () => Promise<void>;
  /** Reads the newest page again. */
  readonly refresh: () => Promise<void>;
  readonly markRead: (id: number) => Promise<void>;
  /** Marks all notifications read, those of other applications too. */
  readonly markAllRead: () => Promise<void>;
}

const empty = (): InboxState => EMPTY_INBOX;

/** Notifications of all applications, as they come: the component shows the newest page, and reads older ones by `loadMore`. */
export function useInbox(): UseInbox {
  const { inbox } = useClient();
  const subscribe = useCallback((listener: () => void) => inbox.hold(listener), [inbox]);
  const state = useSyncExternalStore(subscribe, () => inbox.state, empty);
  return useMemo(
    () => ({
      ...state,
      loadMore: () => inbox.loadMore(),
      refresh: () => inbox.refresh(),
      markRead: (id) => inbox.markRead(id),
      markAllRead: () => inbox.markAllRead(),
    }),
    [inbox, state],
  );
}
