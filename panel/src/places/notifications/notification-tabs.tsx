import { useRead } from '../../api/queries.ts';
import { Badge } from '../../parts/badge.tsx';
import { Tabs } from '../../parts/page.tsx';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';

export function NotificationTabs() {
  const { notifications: words } = useWords();
  const { any } = useRights();
  const unread = useRead('GET /api/profile/me/notifications/inbox/unread-count', {});
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
