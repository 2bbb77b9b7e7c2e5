import { Link } from 'wouter';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Badge, Time } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { Card, Facts as FactList } from '../../parts/page.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import { Reconciliation } from './reconciliation.tsx';
import css from './sign-in.module.css';
import { type NotificationProvider, type Step, stepsOf } from './status.ts';

const MARKS = { done: '✓', open: '○', wrong: '!' } as const;
const TONES = { done: 'good', open: 'neutral', wrong: 'bad' } as const;

/** Step by step what works, and what to do next. */
export function Status() {
  const health = useRead('GET /api/idp/health', {});
  const config = useRead('GET /api/admin/config', {});
  const provider = useRead('GET /api/idp/admin/notification-provider', {});
  const events = useRead('GET /api/idp/admin/events', {});
  const reads = [health, config, provider, events];
  const failed = reads.find(({ isError, data }) => isError && data === undefined);
  if (failed !== undefined) return <Problem error={asError(failed.error)} onRetry={() => void failed.refetch()} />;
  if (!health.data || !config.data || !provider.data || !events.data) return <Loading rows={6} />;
  const facts = {
    health: health.data.data,
    config: config.data.data,
    notificationProvider: provider.data.data,
    events: events.data.data,
  };
  const steps = stepsOf(facts);
  const next = steps.find(({ state }) => state !== 'done');
  return (
    <>
      <ol className={css.steps}>
        {steps.map((step) => (
          <StepRow key={step.name} step={step} isNext={step === next} />
        ))}
      </ol>
      <div className={css.cards}>
        <MailProvider provider={facts.notificationProvider} isReachable={facts.health.status === 'ok'} />
        <EventActions isReachable={facts.health.status === 'ok'} />
        <Reconciliation isReachable={facts.health.status === 'ok'} />
        <Discovery isConfigured={facts.health.status !== 'not_configured'} />
      </div>
    </>
  );
}

function StepRow({ step, isNext }: { step: Step; isNext: boolean }) {
  const { signIn: words } = useWords();
  const { name, state, missing, lastAt } = step;
  return (
    <li className={css.step} aria-current={isNext ? 'step' : undefined}>
      <span className={`${css.mark} ${css[state]}`} aria-hidden="true">
        {MARKS[state]}
      </span>
      <div>
        <h2>
          {words.steps[name].title} <Badge tone={TONES[state]}>{words.states[state]}</Badge>
        </h2>
        <p className={css.soft}>{words.steps[name][state]}</p>
        {missing.length > 0 && (
          <p>
            {words.set}{' '}
            {missing.map(({ key, variable }) => (
              <span key={key} className={css.key}>
                <code>{key}</code> <span className={css.soft}>(</span>
                <code>{variable}</code>
                <span className={css.soft}>)</span>
              </span>
            ))}
          </p>
        )}
        {lastAt !== null && (
          <p className={css.soft}>
            {words.lastHeard} <Time iso={lastAt} />
          </p>
        )}
        {name === 'brands' && state === 'wrong' && (
          <p>
            <Link href="/sign-in/events">{words.views.events}</Link> · <Link href="/brands">{words.openBrands}</Link>
          </p>
        )}
      </div>
    </li>
  );
}

/** Lets the provider send its own events here. It can be repeated, and says nothing of how it is: `usher doctor` does. */
function EventActions({ isReachable }: { isReachable: boolean }) {
  const { signIn: words } = useWords();
  const writing = useWrite({ done: words.eventsSetUp, refreshes: ['/api/idp'] });
  return (
    <Card title={words.eventActions} actions={<Link href="/sign-in/events">{words.views.events}</Link>}>
      <p className={css.soft}>{words.eventActionsWhy}</p>
      <Problem error={writing.error} />
      {isReachable ? (
        <div className={css.acts}>
          <Button
            busy={writing.busy}
            onClick={() => void writing.run(() => call('POST /api/idp/admin/actions/setup', {}))}
          >
            {words.setUpEvents}
          </Button>
        </div>
      ) : (
        <p className={css.soft}>{words.needsApi}</p>
      )}
    </Card>
  );
}

function MailProvider({ provider, isReachable }: { provider: NotificationProvider; isReachable: boolean }) {
  const { signIn: words, common } = useWords();
  const writing = useWrite({ done: words.mailsSetUp, refreshes: ['/api/idp'] });
  const { configured, providerId, endpoint, hasSigningKey, serviceAccountConfigured } = provider;
  const isOrNot = (value: boolean) => (value ? common.yes : common.no);
  // Without the provider's API neither can succeed.
  const may = isReachable && serviceAccountConfigured;
  return (
    <Card title={words.mailProvider}>
      <FactList
        facts={[
          [words.configured, isOrNot(configured)],
          [words.providerId, providerId === null ? '–' : <code key="id">{providerId}</code>],
          [words.endpoint, <code key="endpoint">{endpoint}</code>],
          [words.signingKey, isOrNot(hasSigningKey)],
          [words.serviceAccount, isOrNot(serviceAccountConfigured)],
        ]}
      />
      <Problem error={writing.error} />
      {may && (
        <div className={css.acts}>
          <Button
            kind={configured ? 'plain' : 'primary'}
            busy={writing.busy}
            onClick={() => void writing.run(() => call('POST /api/idp/admin/notification-provider/setup', {}))}
          >
            {configured ? words.setUpAgain : words.setUp}
          </Button>
          {configured && (
            <Button
              busy={writing.busy}
              onClick={() => void writing.run(() => call('POST /api/idp/admin/notification-provider/activate', {}))}
            >
              {words.activate}
            </Button>
          )}
        </div>
      )}
      {!may && <p className={css.soft}>{words.needsApi}</p>}
    </Card>
  );
}

function Discovery({ isConfigured }: { isConfigured: boolean }) {
  const { signIn: words } = useWords();
  const discovery = useRead('GET /api/idp/discovery', {}, { enabled: isConfigured });
  const text = JSON.stringify(discovery.data?.data ?? null, null, 2);
  return (
    <Card title={words.discovery} actions={discovery.data !== undefined && <CopyButton text={text} />}>
      {!isConfigured && <p className={css.soft}>{words.noProvider}</p>}
      {isConfigured && discovery.isPending && <Loading rows={3} />}
      {discovery.isError && <Problem error={asError(discovery.error)} onRetry={() => void discovery.refetch()} />}
      {discovery.data !== undefined && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard
        <pre className={css.document} tabIndex={0}>
          {text}
        </pre>
      )}
    </Card>
  );
}
