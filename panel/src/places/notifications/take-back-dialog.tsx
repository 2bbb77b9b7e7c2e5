import { type ReactNode, useState } from 'react';
import type { Out } from '../../../../src/gen/api.ts';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { SelectField, Switch } from '../../parts/field.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { mayWriteIn } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import type { LogFilters } from './log-filters.ts';

type TakenBack = Out<'POST /api/applications/{appCode}/notifications/cancel'>;

/** The most that one page of the log holds: what is more is "more than". */
const COUNTED = 200;

/** Which notifications of the application: those of a send, or all that wait and fit the filter. */
export type TakeBackOrder =
  | { readonly ids: readonly number[] }
  | { readonly waiting: { type?: string; email?: string } };

interface TakeBackDialogProps {
  readonly app: string;
  readonly order: TakeBackOrder;
  readonly onClose: () => void;
}

/** Takes back what has not left of the notifications, and says how much that was. */
export function TakeBackDialog({ app, order, onClose }: TakeBackDialogProps) {
  const { notifications: words } = useWords();
  return (
    <Asking app={app} order={order} ready={app !== ''} onClose={onClose}>
      {'ids' in order && <p>{words.takeBackCount(order.ids.length)}</p>}
    </Asking>
  );
}

/** The same within the filter of the log, in one application. How many wait is said first. */
export function TakeBackWaiting({
  values,
  email,
  onClose,
}: {
  values: LogFilters;
  email: string;
  onClose: () => void;
}) {
  const { notifications: words, common } = useWords();
  const rights = useRights();
  const known = (useRead('GET /api/applications', {}).data?.data ?? []).filter(({ code }) => mayWriteIn(rights, code));
  const [chosen, setChosen] = useState(values.app);
  const app = known.some(({ code }) => code === chosen) ? chosen : known.length === 1 ? (known[0]?.code ?? '') : '';
  const { type } = values;
  const asked = useRead(
    'GET /api/admin/notifications',
    { query: { appCode: app, type, email, status: 'queued', limit: COUNTED } },
    { enabled: app !== '', staleTime: 0 },
  );
  const found = asked.data?.data.length ?? 0;
  const more = asked.data?.next != null;
  const none = asked.isSuccess && found === 0;
  const waiting = { ...(type === '' ? {} : { type }), ...(email === '' ? {} : { email }) };
  return (
    <Asking
      app={app}
      order={{ waiting }}
      ready={app !== '' && asked.isSuccess}
      missing={app === '' ? words.takeBackWhere : none && words.takeBackNone}
      onClose={onClose}
    >
      <SelectField
        label={common.application}
        value={app}
        options={[['', words.chooseApplication], ...known.map(({ code, name }) => [code, name || code] as const)]}
        onText={setChosen}
      />
      {app !== '' && asked.isPending && <Loading rows={1} />}
      {asked.isError && <Problem error={asError(asked.error)} onRetry={() => void asked.refetch()} />}
      {asked.isSuccess && (
        <p role="status">
          {none ? words.takeBackNone : more ? words.takeBackAtLeast(found) : words.takeBackCount(found)}
        </p>
      )}
    </Asking>
  );
}

interface AskingProps extends TakeBackDialogProps {
  readonly ready: boolean;
  /** Why it cannot be done. */
  readonly missing?: string | false;
  readonly children: ReactNode;
}

function Asking({ app, order, ready, missing = false, onClose, children }: AskingProps) {
  const { notifications: words, common } = useWords();
  const [withdraw, setWithdraw] = useState(true);
  const [taken, setTaken] = useState<TakenBack | null>(null);
  const writing = useWrite({ refreshes: ['/api/admin', '/api/applications'] });
  const act = () =>
    writing.run(async () => {
      const body = 'ids' in order ? { ids: [...order.ids] } : { waiting: order.waiting };
      const given = { path: { appCode: app }, query: withdraw ? { withdraw: true as const } : {}, body };
      const answer = await call('POST /api/applications/{appCode}/notifications/cancel', given, { timeoutMs: 60_000 });
      setTaken(answer.data);
    });
  return (
    <Dialog
      title={words.takeBackTitle}
      onClose={onClose}
      fleeting
      actions={
        <>
          <Button onClick={onClose}>{taken === null ? common.cancel : common.close}</Button>
          {taken === null && (
            <Button
              kind="danger"
              busy={writing.busy}
              disabled={missing || (!ready && common.missing.wait)}
              onClick={() => void act()}
            >
              {words.takeBack}
            </Button>
          )}
        </>
      }
    >
      <Problem error={writing.error} />
      {taken === null ? (
        <>
          {children}
          <p>{words.takeBackLead}</p>
          <Switch label={words.withdraw} hint={words.withdrawHint} checked={withdraw} onChecked={setWithdraw} />
        </>
      ) : (
        <div role="status">
          <p>{words.takenBack(taken.cancelled)}</p>
          {taken.left > 0 && <p>{words.takenLeft(taken.left)}</p>}
          {taken.leaving > 0 && <p>{words.takenLeaving(taken.leaving)}</p>}
          {taken.withdrawn > 0 && <p>{words.takenWithdrawn(taken.withdrawn)}</p>}
          {taken.more && <p>{words.takenMore}</p>}
        </div>
      )}
    </Dialog>
  );
}
