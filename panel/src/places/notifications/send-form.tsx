import { lazy, Suspense, useState } from 'react';
import type { Out, Template } from '../../../../src/gen/api.ts';
import { call } from '../../api/call.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Button } from '../../parts/button.tsx';
import { faultOf, SelectField, TextArea, TextField } from '../../parts/field.tsx';
import { onDemand } from '../../parts/on-demand.ts';
import { Card } from '../../parts/page.tsx';
import { PeopleField, usePasted } from '../../parts/people-field.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useKeptDraft } from '../../shell/drafts.ts';
import { PROVIDER_TYPE } from '../../shell/panel-app.ts';
import { useRights } from '../../shell/rights.ts';
import { useWords } from '../../words/words.ts';
import css from './notifications.module.css';
import { Variables } from './send-variables.tsx';
import { type Draft, EMPTY, emptyIn, knownIn, MANY, orderOf, payloadOf } from './sends.ts';

type Outcome = Out<'POST /api/applications/{appCode}/notifications'>['notifications'];

const SendPreview = onDemand(() => import('./send-preview.tsx'), 'applications', 'notifications');
const SendQuestion = lazy(() => import('./send-question.tsx'));

interface SendFormProps {
  readonly app: string;
  readonly type: string;
  readonly known: readonly {
    readonly code: string;
    readonly name: string;
    readonly supportedLanguages: readonly string[];
  }[];
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

/** To whom it goes, and with which key. */
interface Order {
  readonly recipients: readonly string[];
  readonly key: string;
}

export function SendForm({ app, type, known, set, onSent }: SendFormProps) {
  const { notifications: words, common } = useWords();
  const { email: own } = useRights();
  const [kept, keep] = useKeptDraft<Keyed>('send');
  const [{ draft, key }, setKeyed] = useState(kept ?? keyed(EMPTY));
  const [asking, setAsking] = useState<Order | null>(null);
  const change = (changes: Partial<Draft>) => {
    const next = keyed({ ...draft, ...changes });
    setKeyed(next);
    keep(next);
  };
  const path = { appCode: app };
  const types = useRead('GET /api/applications/{appCode}/notification-types', { path });
  const templates = useRead('GET /api/applications/{appCode}/templates', { path });
  const kinds = (types.data?.data ?? []).filter(({ code }) => code !== PROVIDER_TYPE);
  const ofType = (templates.data?.data ?? []).filter((one) => one.type === type);
  const variants = ofType.filter((one) => one.key === (draft.templateKey || 'default'));
  const variables = knownIn(variants);
  const { emails, fault: unread } = usePasted(draft.recipients);
  const read = payloadOf(draft.payload);
  const payload = 'payload' in read ? read.payload : null;
  const payloadFault = 'fault' in read ? `${words.payloadFault} ${read.fault}`.trim() : null;
  const empty = emptyIn(variables, payload ?? {});
  const lacking = empty.filter(({ required }) => required).map(({ name }) => name);
  const writing = useWrite({ refreshes: ['/api/admin', '/api/profile', `/api/applications/${app}/notifications`] });
  const { error } = writing;
  const send = ({ recipients, key: sendKey }: Order) =>
    writing.run(async () => {
      if (payload === null) return;
      const body = { ...orderOf({ ...draft, type }, recipients, payload), idempotencyKey: sendKey };
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
  /** Sends at once what is plain; asks about many people, and about words that would be missing. */
  const begin = (order: Order): void => {
    if (order.recipients.length > MANY || empty.length > 0) setAsking(order);
    else void send(order);
  };
  const missing = payloadFault ?? (lacking.length > 0 && common.missing.fields(lacking));
  const off = unread ?? (emails.length === 0 ? common.missing.address : missing);
  return (
    <form
      className={css.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (!off) begin({ recipients: emails, key });
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
        <PeopleField
          label={words.recipients}
          value={draft.recipients}
          rows={3}
          hint={words.recipientsHint}
          fault={faultOf(error, 'recipients')}
          onText={(recipients) => change({ recipients })}
        />
        <TemplateKey
          ofType={ofType}
          value={draft.templateKey}
          error={error}
          onKey={(to) => change({ templateKey: to })}
        />
        <Variables
          variables={variables}
          text={draft.payload}
          payload={payload}
          fault={payloadFault ?? faultOf(error, 'payload')}
          onText={(text) => change({ payload: text })}
        />
      </Card>
      <OwnWords
        draft={draft}
        error={error}
        supported={known.find(({ code }) => code === app)?.supportedLanguages ?? []}
        templated={variants.length > 0}
        change={change}
      />
      {variants.length > 0 && payload !== null && (
        <Suspense fallback={<Loading rows={4} />}>
          <SendPreview appCode={app} variants={variants} payload={payload} wanted={draft.locale} />
        </Suspense>
      )}
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
        <Button
          busy={writing.busy}
          disabled={missing}
          onClick={() => void send({ recipients: [own], key: `${key}-own` })}
        >
          {words.sendOne}
        </Button>
        <Button kind="primary" type="submit" busy={writing.busy} disabled={off}>
          {words.sendNow(emails.length)}
        </Button>
      </div>
      {asking !== null && (
        <Suspense fallback={null}>
          <SendQuestion
            recipients={asking.recipients.length}
            empty={empty.map(({ name }) => name)}
            onSend={() => {
              setAsking(null);
              void send(asking);
            }}
            onClose={() => setAsking(null)}
          />
        </Suspense>
      )}
    </form>
  );
}

interface TemplateKeyProps {
  readonly ofType: readonly Template[];
  readonly value: string;
  readonly error: Error | null;
  readonly onKey: (key: string) => void;
}

function TemplateKey({ ofType, value, error, onKey }: TemplateKeyProps) {
  const { notifications: words } = useWords();
  const keys = [...new Set(ofType.map((one) => one.key))].sort();
  if (keys.length === 0) return null;
  return (
    <div className={css.pair}>
      <SelectField
        label={words.template}
        value={value}
        options={[['', words.defaultTemplate], ...keys.map((one) => [one, one] as const)]}
        fault={faultOf(error, 'templateKey')}
        onText={onKey}
      />
    </div>
  );
}

interface OwnWordsProps {
  readonly draft: Draft;
  readonly error: Error | null;
  /** The languages of the application; empty: every language. */
  readonly supported: readonly string[];
  /** A template says the subject and the text. */
  readonly templated: boolean;
  readonly change: (changes: Partial<Draft>) => void;
}

/** What a send says itself: everything without a template, and with one the link and the language. */
function OwnWords({ draft, error, supported, templated, change }: OwnWordsProps) {
  const { notifications: words } = useWords();
  const languages = useRead('GET /api/languages', {});
  const offered = (languages.data?.data ?? []).filter(({ code }) => supported.length === 0 || supported.includes(code));
  return (
    <Card>
      {!templated && (
        <>
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
        </>
      )}
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
          options={[['', words.ownLanguage], ...offered.map(({ code, name }) => [code, name] as const)]}
          hint={words.languageHint}
          fault={faultOf(error, 'locale')}
          onText={(locale) => change({ locale })}
        />
      </div>
    </Card>
  );
}
