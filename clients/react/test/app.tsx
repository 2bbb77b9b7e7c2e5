import {
  Can,
  Inbox,
  type PermissionState,
  UsherProvider,
  useInbox,
  usePermission,
  usePermissions,
  usePush,
  useUsher,
} from '@usher-service/react';
import '@usher-service/react/styles.css';
import type { ReactElement } from 'react';

/** What the README shows. */
export function App({ token }: { token: string | null }) {
  return (
    <UsherProvider url="https://usher.example.com" app="atelier" token={token}>
      <Can permission="project.archive" resource={{ type: 'project', id: 1042 }} pending={<p>Wait</p>}>
        <button type="button">Archive</button>
      </Can>
      <Inbox labels={{ title: 'Messages' }} />
      <Project />
    </UsherProvider>
  );
}

function Project() {
  const { allowed } = usePermission('project.access', { level: 'edit' });
  const [exporting, approving] = usePermissions(['report.export', { permission: 'invoice.approve', resource: null }]);
  const states: readonly PermissionState[] = [exporting, approving];
  const { unread } = useInbox();
  const { supported, subscribe } = usePush();
  const { refresh } = useUsher();
  return (
    <p>
      {String(allowed)} {states.map(({ known }) => String(known)).join()} {unread ?? 'none'}
      {supported && (
        <button type="button" onClick={() => void subscribe().then(refresh)}>
          Pushes
        </button>
      )}
    </p>
  );
}

// @ts-expect-error: with a function, the page has to say who is signed in
export const nobodySaid = <UsherProvider url="" app="atelier" getToken={() => null} />;
const inside = (page: ReactElement) => (
  <UsherProvider url="" app="atelier" token="a.b.c">
    {page}
  </UsherProvider>
);
// @ts-expect-error: a level is view or edit
export const misspelt = inside(<Can permission="project.access" level="write" />);
// @ts-expect-error: a record is `resource`
export const nameless = inside(<Can permission="project.access" resourceType="project" resourceId="7" />);
// @ts-expect-error: two questions have two answers
export const third = (): PermissionState => usePermissions(['a', 'b'])[2];
