import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { saveFile } from '../../../api/csv.ts';
import { Button } from '../../../parts/button.tsx';
import type { Editor } from '../../../parts/code-editor.ts';
import { CodeField } from '../../../parts/code-field.tsx';
import { CopyButton } from '../../../parts/copy.tsx';
import { useWords } from '../../../words/words.ts';
import css from '../ask.module.css';
import { NO_QUESTION, type Question, recordOf } from '../question.ts';
import { RulesView } from '../rules-view.tsx';
import { Sentence } from '../sentence.tsx';
import { Verdict } from '../why.tsx';
import { DecisionTable } from './decision-table.tsx';
import { DEMO } from './demo.ts';
import { Live } from './live.tsx';
import { answerIn, peopleIn, type Reading, readPlayground, recordsIn } from './model.ts';
import look from './playground.module.css';
import { present } from './service.ts';
import { packed, type Shared, unpacked } from './share.ts';
import { TestOutcomes } from './test-outcomes.tsx';
import { keepTyped, readTyped } from './typed.ts';

const PAUSE_MS = 400;

const START: Shared = {
  text: DEMO,
  question: {
    ...NO_QUESTION,
    email: 'clara@example.com',
    permission: 'project.access',
    resourceType: 'project',
    resourceId: '1042',
  },
};

/** A manifest at the left; at the right what it decides, in the browser, as the service would. */
export default function PlaygroundView() {
  const { ask } = useWords();
  const words = ask.playground;
  const { text, question, set, open, share } = useShared();
  const read = useDeferredValue(text);
  const reading = useMemo(() => readPlayground(read), [read]);
  const faults = useRef<Pick<Editor, 'goTo'> | null>(null);
  return (
    <div className={look.sides}>
      <section className={look.side} aria-label={words.editor}>
        <div className={css.buttons}>
          <Live.Open onOpen={(opened) => open({ text: opened, question }, true)} />
          <CopyButton text={share} label={words.share} />
          <Button kind="quiet" onClick={() => saveFile('manifest.yaml', text, 'application/yaml')}>
            {words.download}
          </Button>
          <Button kind="quiet" onClick={() => open(START, false)}>
            {words.reset}
          </Button>
        </div>
        <CodeField
          tall
          language="yaml"
          label={words.editor}
          value={text}
          onText={(typed) => set({ text: typed })}
          faults={reading.issues}
          editor={faults}
        />
        <Faults reading={reading} goTo={(line, column) => faults.current?.goTo(line, column)} />
      </section>
      <section className={look.side} aria-label={ask.answer.label}>
        <Decided
          reading={reading}
          question={question}
          change={(changes) => set({ question: { ...question, ...changes } })}
        />
      </section>
    </div>
  );
}

interface Opened extends Shared {
  /** Whether the text was opened from the service. */
  readonly isOfService: boolean;
}

interface Sharing extends Shared {
  readonly set: (changes: Partial<Shared>) => void;
  readonly open: (shared: Shared, isOfService: boolean) => void;
  /** Writes all into the address, and gives the link. */
  readonly share: () => Promise<string>;
}

/** Text and question. They stand in the address from when they are shared until they are changed. */
function useShared(): Sharing {
  const [opened, setOpened] = useState<Opened>(() => ({ ...firstShown(), isOfService: false }));
  // What the address and the tab's storage hold is not written there again.
  const stored = useRef(opened);
  useEffect(() => {
    const take = () =>
      void unpacked(location.hash).then((found) => {
        if (found === null) return;
        stored.current = { ...found, isOfService: false };
        setOpened(stored.current);
      });
    take();
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, []);
  useEffect(() => {
    if (opened === stored.current) return undefined;
    const timer = setTimeout(() => {
      // Shared meanwhile.
      if (opened === stored.current) return;
      stored.current = opened;
      keepTyped({ text: opened.text, question: opened.question }, opened.isOfService);
      if (location.hash !== '') show('');
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [opened]);
  const { text, question } = opened;
  return {
    text,
    question,
    set: (changes) => setOpened((before) => ({ ...before, ...changes })),
    open: (shared, isOfService) => setOpened({ ...shared, isOfService }),
    share: async () => {
      const hash = await packed({ text, question });
      stored.current = opened;
      keepTyped({ text, question }, opened.isOfService);
      show(hash);
      return location.href;
    },
  };
}

function firstShown(): Shared {
  return (location.hash.startsWith('#1.') ? null : readTyped()) ?? START;
}

/** Without an event of the address, and without a step back. */
function show(hash: string): void {
  history.replaceState(history.state, '', `${location.pathname}${location.search}${hash}`);
}

function Faults({ reading, goTo }: { reading: Reading; goTo: (line: number, column: number) => void }) {
  const { ask } = useWords();
  const words = ask.playground;
  const { issues } = reading;
  return (
    <div role="status" className={look.faults}>
      <p className={issues.length === 0 ? css.soft : look.bad}>
        {issues.length === 0 ? words.noFaults : words.faults(issues.length)}
      </p>
      <ul>
        {issues.slice(0, MAX_FAULTS).map(({ path, message, line, column }) => (
          <li key={`${line}:${column}:${path}:${message}`}>
            <button type="button" className={css.linkButton} onClick={() => goTo(line, column)}>
              {words.line(line, column)}
            </button>{' '}
            {path} {message}
          </li>
        ))}
      </ul>
    </div>
  );
}

const MAX_FAULTS = 20;

interface DecidedProps {
  readonly reading: Reading;
  readonly question: Question;
  readonly change: (changes: Partial<Question>) => void;
}

function Decided({ reading, question, change }: DecidedProps) {
  const { ask } = useWords();
  const words = ask.playground;
  const { manifest, world } = reading;
  if (manifest === null || world === null) return <p role="status">{words.unreadable}</p>;
  const app = manifest.application.code;
  const asked = { ...question, app };
  const permissions = present(manifest.permissions);
  const permission = permissions.find(({ code }) => code === question.permission);
  const complete = question.email.trim() !== '' && question.permission !== '';
  const answered = complete ? answerIn(world, asked) : null;
  const records = recordsIn(manifest)
    .filter((record) => record.startsWith(`${question.resourceType}:`))
    .map((record) => ({ value: record.slice(record.indexOf(':') + 1) }));
  return (
    <>
      <Sentence
        question={asked}
        change={change}
        people={peopleIn(manifest).map((value) => ({ value }))}
        permissions={permissions.map(({ code, description }) => ({ value: code, note: description }))}
        types={present(manifest.entities).map(({ code, name }) => ({ value: code, note: name }))}
        records={records}
        suggest={null}
        apps={null}
        tiered={permission === undefined ? null : permission.type === 'tiered'}
      />
      {answered?.kind === 'answer' && (
        <>
          <div className={css.answer}>
            <Verdict question={asked} explained={answered.explained} asked="" />
            <Live.Beside question={asked} explained={answered.explained} />
          </div>
          <RulesView
            question={asked}
            explained={answered.explained}
            settled={null}
            global={permission?.global === true}
          />
        </>
      )}
      {answered?.kind === 'refused' && (
        <div className={css.answer}>
          <p className={css.soft}>{ask.answer.refused}</p>
          <p className={css.unknown}>{answered.message}</p>
        </div>
      )}
      <DecisionTable reading={reading} record={recordOf(question)} question={question} change={change} />
      <TestOutcomes outcomes={reading.outcomes} />
    </>
  );
}
