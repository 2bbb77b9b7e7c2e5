import { useRead } from '../../api/queries.ts';
import { Badge } from '../../parts/badge.tsx';
import { Tabs } from '../../parts/page.tsx';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';

/** `ready` is false while the page asks for what matters more than the number of unread ones. */
export function NotificationTabs({ ready = true }: { ready?: boolean }) {
  const { notifications: words } = useWords();
  const { any } = useRights();
  const unread = useRead('GET /api/profile/me/notifications/inbox/unread-count', {}, { enabled: ready });
  const count = unread.data?.data.count ?? 0;
  const inbox = (
    <>
      {words.inbox} {count > 0 && <Badge tone="accent">{words.unreadCount(count)}</Badge>}
    </>
  );
  return (
    <Tabs
      label={words.title}
      tabs={[
        ...(any ? [['/notifications', words.log] as const] : []),
        ['/notifications/inbox', inbox],
        ['/notifications/preferences', words.preferences],
      ]}
    />
  );
}
