import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Button } from '../../parts/button.tsx';
import { CopyButton } from '../../parts/copy.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { useAction } from '../../shell/actions.ts';
import { tell } from '../../shell/toasts.ts';
import { useFormats, useWords } from '../../words/words.ts';
import css from './ask.module.css';
import { type BenchProps, isKnownType, useExplain } from './asked.ts';
import { keepAssertion } from './assertions.ts';
import { nearest } from './nearest.ts';
import { caseOf, commandOf, DEMO_QUESTION, isComplete, type Question, queryOf, yamlOf } from './question.ts';
import { reasonOf } from './reason.ts';
import { applies, type Explained } from './rules.ts';
import { RulesView } from './rules-view.tsx';
import { WaysView } from './ways-view.tsx';

/** The answer, the rule that decides, and what would change it. */
export function Why(props: BenchProps) {
  const { question, change, apps, catalog } = props;
  const { ask: words } = useWords();
  const answer = useExplain(question);
  const demo = apps.some(({ code }) => code === DEMO_QUESTION.app);
  useAction(demo ? words.sentence.demo : null, () => change(DEMO_QUESTION));
  if (!isComplete(question)) {
    const half = question.app !== '' && question.email !== '' && question.permission !== '';
    return (
      <div className={css.hint} role="status">
        <p>{half ? words.sentence.halfRecord : words.sentence.incomplete}</p>
        {demo && !half && <Button onClick={() => change(DEMO_QUESTION)}>{words.sentence.demo}</Button>}
      </div>
    );
  }
  if (!apps.some(({ code }) => code === question.app)) {
    const codes = apps.map(({ code }) => code);
    return (
      <Unknown
        text={words.answer.unknownApp(question.app)}
        near={nearest(question.app, codes)}
        onTake={(app) => change({ app })}
      />
    );
  }
  if (answer.isError) return <Problem error={asError(answer.error)} onRetry={() => void answer.refetch()} />;
  if (answer.data === undefined) return <Loading />;
  const explained: Explained = answer.data.data;
  return (
    <div className={css.bench} data-waiting={answer.isPlaceholderData || undefined}>
      <section className={css.answer} aria-label={words.answer.label}>
        <Verdict question={question} explained={explained} asked={answer.isPlaceholderData ? '' : queryOf(question)} />
        <Suggestions {...props} explained={explained} />
        <Take question={question} explained={explained} revision={answer.data.revision} />
      </section>
      <RulesView question={question} explained={explained} settled={props.settled} global={isGlobal(props)} />
      <Problem error={catalog.error} onRetry={catalog.again} />
      {catalog.matrix !== null && <WaysView {...props} explained={explained} matrix={catalog.matrix} />}
      {catalog.matrix === null && catalog.error === null && <Loading />}
    </div>
  );
}

function isGlobal({ catalog, question }: BenchProps): boolean {
  return catalog.matrix?.permissions.some(({ code, global }) => code === question.permission && global) ?? false;
}

/** Large, and told to screen readers when it changes. `asked`: the question that it answers, for whoever measures. */
export function Verdict({ question, explained, asked }: { question: Question; explained: Explained; asked: string }) {
  const all = useWords();
  const { ask: words, common } = all;
  const formats = useFormats();
  const { allowed, accessLevel } = explained;
  const level = common.levels[accessLevel ?? 'none'];
  return (
    <div aria-live="polite" aria-atomic="true" data-asked={asked}>
      <p className={allowed ? css.yes : css.no}>{allowed ? words.answer.yes(level) : words.answer.no}</p>
      {!allowed && <p className={css.because}>{reasonOf(explained, question, all)}</p>}
      {explained.validUntil != null && (
        <p className={css.because}>{words.answer.validUntil(formats.moment(explained.validUntil))}</p>
      )}
    </div>
  );
}

/** What of the question does not exist, with the nearest name that does. */
function Suggestions({ question, settled, change, catalog, explained }: BenchProps & { explained: Explained }) {
  const { ask: words } = useWords();
  const { app, permission, resourceType } = question;
  const codes = catalog.matrix?.permissions.map(({ code }) => code) ?? [];
  const types = catalog.entities?.map(({ code }) => code) ?? [];
  return (
    <>
      {!explained.known.permission && catalog.matrix !== null && (
        <Unknown
          text={words.answer.unknownPermission(app, permission)}
          near={nearest(permission, codes)}
          onTake={(code) => change({ permission: code })}
        />
      )}
      {resourceType !== '' && !isKnownType(catalog, resourceType) && (
        <Unknown
          text={words.answer.unknownType(app, resourceType)}
          near={nearest(resourceType, types)}
          onTake={(code) => change({ resourceType: code })}
        />
      )}
      {!explained.known.user && settled.email === question.email && !applies(explained, 'roles') && (
        <UnknownPerson email={question.email} appCode={app} onTake={(email) => change({ email })} />
      )}
    </>
  );
}

/** People are many: only those whose address begins alike are compared. */
function UnknownPerson({
  email,
  appCode,
  onTake,
}: {
  email: string;
  appCode: string;
  onTake: (email: string) => void;
}) {
  const { ask: words } = useWords();
  const query = { q: email.trim().slice(0, 2), limit: 100, appCode };
  const found = useRead('GET /api/users', { query }, { keep: true });
  const near = nearest(
    email.trim(),
    (found.data?.data ?? []).map((one) => one.email),
  );
  return near === email.trim() ? null : (
    <Unknown text={words.answer.unknownUser(email.trim())} near={near} onTake={onTake} />
  );
}

function Unknown({ text, near, onTake }: { text: string; near: string | null; onTake: (code: string) => void }) {
  const { ask: words } = useWords();
  return (
    <p className={css.unknown} role="status">
      {text}{' '}
      {near !== null && (
        <button type="button" className={css.linkButton} onClick={() => onTake(near)}>
          {words.answer.didYouMean(near)}
        </button>
      )}
    </p>
  );
}

/** The question in the forms in which it can be taken elsewhere. */
function Take({
  question,
  explained,
  revision,
}: {
  question: Question;
  explained: Explained;
  revision: string | null;
}) {
  const { ask: words, common } = useWords();
  const keep = () => {
    keepAssertion(question.app, caseOf(question, explained));
    tell(words.take.kept);
  };
  useAction(words.take.assert, keep);
  const link = () => `${location.origin}/panel/ask?${queryOf(question)}`;
  return (
    <div className={css.take}>
      <CopyButton text={link} label={common.copyLink} />
      <CopyButton text={() => commandOf('check', question)} label={words.take.check} />
      <CopyButton text={() => commandOf('explain', question)} label={words.take.explain} />
      <CopyButton text={() => yamlOf(caseOf(question, explained))} label={words.take.test} />
      <Button kind="quiet" onClick={keep}>
        {words.take.assert}
      </Button>
      {revision !== null && <span className={css.revision}>{words.answer.revision(revision)}</span>}
    </div>
  );
}
