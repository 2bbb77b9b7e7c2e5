import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { Out } from '../../../../src/gen/api.ts';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Button } from '../../parts/button.tsx';
import { faultOf, SelectField, TextArea, TextField } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Card, Empty, Page } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useKeptDraft } from '../../shell/drafts.ts';
import { mayWriteIn, PROVIDER_TYPE } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import { addressesIn } from '../applications/people/addresses.ts';
import css from './notifications.module.css';
import { Reason, StatusBadge } from './reason.tsx';
import { type Draft, EMPTY, orderOf, payloadOf } from './sends.ts';

type Outcome = Out<'POST /api/applications/{appCode}/notifications'>['notifications'];

/** The service takes so many recipients at once. */
const LIMIT = 1000;
/** So many of them are listed afterwards. */
const LISTED = 50;

/** Sends a notification to people of an application. A draft keeps its key, so that pressing again after a failure sends nothing twice. */
export default function Send() {
  const { notifications: words } = useWords();
  const rights = useRights();
  const { values, set } = useFilters({ app: '', type: 'generic' });
  const applications = useRead('GET /api/applications', {});
  const known = (applications.data?.data ?? []).filter(({ code }) => mayWriteIn(rights, code));
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const app = known.some(({ code }) => code === values.app) ? values.app : (known[0]?.code ?? '');
  return (
    <Page title={words.sendTitle} lead={words.sendLead} trail={[['/notifications', words.title]]}>
      {applications.isPending && <Loading rows={5} />}
      {applications.isError && (
        <Problem error={asError(applications.error)} onRetry={() => void applications.refetch()} />
      )}
      {applications.isSuccess && known.length === 0 && <Empty title={words.nowhere} />}
      {outcome !== null && <Sent app={app} outcome={outcome} onAgain={() => setOutcome(null)} />}
      {app !== '' && (
        <div hidden={outcome !== null}>
          <Form app={app} type={values.type} known={known} set={set} onSent={setOutcome} />
        </div>
      )}
    </Page>
  );
}

interface FormProps {
  readonly app: string;
  readonly type: string;
  readonly known: readonly { readonly code: string; readonly name: string }[];
  readonly set: (changes: { app?: string; type?: string }) => void;
  readonly onSent: (outcome: Outcome) => void;
}

/** A draft, and the key that makes a second press after a failure send nothing twice. */
interface Keyed {
  readonly draft: Draft;
  readonly key: string;
}

function keyed(draft: Draft): Keyed {
  return { draft, key: crypto.randomUUID() };
}

function Form({ app, type, known, set, onSent }: FormProps) {
  const { notifications: words, common } = useWords();
  const { email: own } = useRights();
  const [kept, keep] = useKeptDraft<Keyed>('send');
  const [{ draft, key }, setKeyed] = useState(kept ?? keyed(EMPTY));
  const change = (changes: Partial<Draft>) => {
    const next = keyed({ ...draft, ...changes });
    setKeyed(next);
    keep(next);
  };
  const path = { appCode: app };
  const types = useRead('GET /api/applications/{appCode}/notification-types', { path });
  const templates = useRead('GET /api/applications/{appCode}/templates', { path });
  const languages = useRead('GET /api/languages', {});
  const kinds = (types.data?.data ?? []).filter(({ code }) => code !== PROVIDER_TYPE);
  const variants = (templates.data?.data ?? []).filter((one) => one.type === type);
  const keys = [...new Set(variants.map((one) => one.key))].sort();
  const needs = new Set(
    variants.filter((one) => one.key === (draft.templateKey || 'default')).flatMap((one) => one.requiredVariables),
  );
  const { emails, unread } = useMemo(() => addressesIn(draft.recipients), [draft.recipients]);
  const read = payloadOf(draft.payload);
  const payloadFault = 'fault' in read ? `${words.payloadFault} ${read.fault}`.trim() : null;
  const writing = useWrite({ refreshes: ['/api/admin', '/api/profile', `/api/applications/${app}/notifications`] });
  const { error } = writing;
  const send = (recipients: readonly string[], sendKey: string) =>
    writing.run(async () => {
      if (!('payload' in read)) return;
      const body = { ...orderOf({ ...draft, type }, recipients, read.payload), idempotencyKey: sendKey };
      const answer = await call(
        'POST /api/applications/{appCode}/notifications',
        { path, body },
        { timeoutMs: 120_000 },
      );
      // What was sent stays in the form, to be sent to others, but nobody loses it.
      setKeyed(keyed(draft));
      keep(null);
      onSent(answer.data.notifications);
    });
  const fault =
    unread.length > 0
      ? words.unread(unread.slice(0, 5).join(', '))
      : emails.length > LIMIT
        ? words.tooMany(LIMIT)
        : faultOf(error, 'recipients');
  const ready = emails.length > 0 && emails.length <= LIMIT && unread.length === 0 && payloadFault === null;
  const pair = (one: string) => languages.data?.data.find(({ code }) => code === one)?.name ?? one;
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (ready) void send(emails, key);
      }}
    >
      <Card>
        <div className={css.pair}>
          <SelectField
            label={common.application}
            value={app}
            options={known.map(({ code, name }) => [code, name || code] as const)}
            onText={(code) => set({ app: code, type: '' })}
          />
          <SelectField
            label={words.type}
            value={type}
            options={[
              ...(kinds.length === 0 ? [[type, type] as const] : []),
              ...kinds.map(({ code, name }) => [code, name] as const),
            ]}
            fault={faultOf(error, 'type')}
            onText={(code) => set({ type: code })}
          />
        </div>
        <TextArea
          label={words.recipients}
          value={draft.recipients}
          rows={3}
          spellCheck={false}
          placeholder="ann@example.com, ben@example.com"
          hint={
            <span aria-live="polite">
              {words.recipientsHint} {emails.length > 0 && words.found(emails.length)}
            </span>
          }
          fault={fault}
          onText={(recipients) => change({ recipients })}
        />
        {keys.length > 0 && (
          <div className={css.pair}>
            <SelectField
              label={words.template}
              value={draft.templateKey}
              options={[['', words.defaultTemplate], ...keys.map((one) => [one, one] as const)]}
              fault={faultOf(error, 'templateKey')}
              onText={(templateKey) => change({ templateKey })}
            />
          </div>
        )}
        <TextArea
          label={words.payload}
          value={draft.payload}
          rows={4}
          spellCheck={false}
          placeholder='{"number": "2026-17"}'
          hint={`${words.payloadHint} ${needs.size > 0 ? words.payloadNeeds([...needs].join(', ')) : ''}`}
          fault={payloadFault ?? faultOf(error, 'payload')}
          onText={(payload) => change({ payload })}
        />
      </Card>
      <Card>
        <TextField
          label={words.subject}
          value={draft.subject}
          maxLength={500}
          hint={words.subjectHint}
          fault={faultOf(error, 'subject')}
          onText={(subject) => change({ subject })}
        />
        <TextArea
          label={words.body}
          value={draft.body}
          rows={4}
          hint={words.bodyHint}
          fault={faultOf(error, 'body')}
          onText={(body) => change({ body })}
        />
        <div className={css.pair}>
          <TextField
            label={words.link}
            value={draft.url}
            hint={words.linkHint}
            fault={faultOf(error, 'url')}
            onText={(url) => change({ url })}
          />
          <SelectField
            label={words.language}
            value={draft.locale}
            options={[
              ['', words.ownLanguage],
              ...(languages.data?.data ?? []).map(({ code }) => [code, pair(code)] as const),
            ]}
            hint={words.languageHint}
            fault={faultOf(error, 'locale')}
            onText={(locale) => change({ locale })}
          />
        </div>
      </Card>
      <p className={css.soft}>{words.brandNote}</p>
      <Problem error={error} />
      <div className={css.buttons}>
        {kept !== null && (
          <Button
            kind="quiet"
            onClick={() => {
              setKeyed(keyed(EMPTY));
              keep(null);
            }}
          >
            {common.discard}
          </Button>
        )}
        <Button busy={writing.busy} disabled={payloadFault} onClick={() => void send([own], `${key}-own`)}>
          {words.sendOne}
        </Button>
        <Button
          kind="primary"
          type="submit"
          busy={writing.busy}
          disabled={!ready && (fault ?? payloadFault ?? common.missing.address)}
        >
          {words.sendNow(emails.length)}
        </Button>
      </div>
    </form>
  );
}

function Sent({ app, outcome, onAgain }: { app: string; outcome: Outcome; onAgain: () => void }) {
  const { notifications: words } = useWords();
  return (
    <Card
      title={<span role="status">{words.sentTo(outcome.length)}</span>}
      actions={<Button onClick={onAgain}>{words.again}</Button>}
    >
      <ul className={css.outcome}>
        {outcome.slice(0, LISTED).map(({ id, email, status, statusReason }) => (
          <li key={id}>
            <Link href={`/notifications/${encodeURIComponent(app)}/${id}`}>{email}</Link>
            <StatusBadge status={status} />
            {statusReason !== null && <Reason code={statusReason} />}
          </li>
        ))}
      </ul>
    </Card>
  );
}
