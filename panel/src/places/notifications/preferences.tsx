import type { Out } from '../../../../src/gen/api.ts';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Switch } from '../../parts/field.tsx';
import { Card, Empty, Page } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import { NotificationTabs } from './notification-tabs.tsx';
import css from './notifications.module.css';

type Own = Out<'GET /api/profile/me/apps'>[number];
type Preference = Out<'GET /api/profile/me/notifications/{appCode}'>[number];

/** What reaches the reader of each application that they use, and by which channel. */
export default function Preferences() {
  const { notifications: words } = useWords();
  const mine = useRead('GET /api/profile/me/apps', {});
  return (
    <Page title={words.preferences} lead={words.preferencesLead}>
      <NotificationTabs />
      {mine.isPending && <Loading rows={4} />}
      {mine.isError && <Problem error={asError(mine.error)} onRetry={() => void mine.refetch()} />}
      {mine.data?.data.length === 0 && <Empty title={words.preferencesEmpty} />}
      {mine.data?.data.map((own) => (
        <OfApplication key={own.applicationCode} own={own} />
      ))}
    </Page>
  );
}

function OfApplication({ own }: { own: Own }) {
  const { notifications: words } = useWords();
  const { applicationCode: appCode, notificationsEnabled } = own;
  const path = { appCode };
  const asked = useRead('GET /api/profile/me/notifications/{appCode}', { path }, { enabled: notificationsEnabled });
  const writing = useWrite({ refreshes: ['/api/profile/me/apps', `/api/profile/me/notifications/${appCode}`] });
  const set = (enabled: boolean) =>
    writing.run(() => call('PUT /api/profile/me/apps/{appCode}', { path, body: { notificationsEnabled: enabled } }));
  const change = (notificationTypeId: number, body: { email?: boolean; push?: boolean }) =>
    writing.run(() =>
      call('PUT /api/profile/me/notifications/preferences/{notificationTypeId}', {
        path: { notificationTypeId },
        body,
      }),
    );
  return (
    <Card title={<code>{appCode}</code>}>
      <Problem error={writing.error} />
      <Switch
        label={words.masterSwitch(appCode)}
        hint={words.masterHint}
        checked={notificationsEnabled}
        onChecked={(enabled) => void set(enabled)}
      />
      {notificationsEnabled && asked.isPending && <Loading rows={2} />}
      {notificationsEnabled && asked.data?.data.length === 0 && <p className={css.soft}>{words.noTypes}</p>}
      {notificationsEnabled && (asked.data?.data.length ?? 0) > 0 && (
        <ul className={css.switches}>
          {asked.data?.data.map((preference) => (
            <li key={preference.notificationTypeId}>
              <div>
                <strong dir="auto">{preference.name}</strong>
                {preference.description && (
                  <p className={css.soft} dir="auto">
                    {preference.description}
                  </p>
                )}
              </div>
              <Channel preference={preference} channel="email" onSet={change} />
              <Channel preference={preference} channel="push" onSet={change} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

interface ChannelProps {
  readonly preference: Preference;
  readonly channel: 'email' | 'push';
  readonly onSet: (notificationTypeId: number, body: { email?: boolean; push?: boolean }) => void;
}

function Channel({ preference, channel, onSet }: ChannelProps) {
  const { notifications: words } = useWords();
  const name = words.channels[channel];
  const enabled = channel === 'email' ? preference.emailEnabled : preference.pushEnabled;
  if (!enabled || !preference.userCanDisable) {
    return (
      <span className={css.soft}>
        {name}: {enabled ? words.locked : words.off}
      </span>
    );
  }
  return (
    <Switch
      label={
        <>
          <span className="visually-hidden">{preference.name}: </span>
          {name}
        </>
      }
      checked={preference[channel]}
      onChecked={(on) => onSet(preference.notificationTypeId, { [channel]: on })}
    />
  );
}
