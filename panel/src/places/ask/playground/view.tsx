import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { saveFile } from '../../../api/csv.ts';
import { Button } from '../../../parts/button.tsx';
import type { Editor } from '../../../parts/code-editor.ts';
import { CodeField } from '../../../parts/code-field.tsx';
import { CopyButton } from '../../../parts/copy.tsx';
import { keep, readKept } from '../../../session/kept.ts';
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

/** In the tab's storage: what was typed here. */
const KEPT = 'playground';
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
  const [{ text, question }, set] = useShared();
  const read = useDeferredValue(text);
  const reading = useMemo(() => readPlayground(read), [read]);
  const faults = useRef<Pick<Editor, 'goTo'> | null>(null);
  const share = () => `${location.origin}${location.pathname}${location.hash}`;
  return (
    <div className={look.sides}>
      <section className={look.side} aria-label={words.editor}>
        <div className={css.buttons}>
          <Live.Open onOpen={(opened) => set({ text: opened })} />
          <CopyButton text={share} label={words.share} />
          <Button kind="quiet" onClick={() => saveFile('manifest.yaml', text, 'application/yaml')}>
            {words.download}
          </Button>
          <Button kind="quiet" onClick={() => set(START)}>
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

/** Text and question; the address keeps up with them, so that it can be shared at any time. */
function useShared(): [Shared, (changes: Partial<Shared>) => void] {
  const [shared, setShared] = useState(() => keptBefore() ?? START);
  const written = useRef('');
  useEffect(() => {
    const take = () => {
      const { hash } = location;
      if (hash === written.current) return;
      void unpacked(hash).then((found) => found !== null && setShared(found));
    };
    take();
    addEventListener('hashchange', take);
    return () => removeEventListener('hashchange', take);
  }, []);
  const isStart = shared === START;
  useEffect(() => {
    if (isStart) return undefined;
    const timer = setTimeout(() => {
      keep('session', KEPT, JSON.stringify(shared));
      void packed(shared).then((hash) => {
        written.current = hash;
        history.replaceState(history.state, '', `${location.pathname}${location.search}${hash}`);
      });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [shared, isStart]);
  return [shared, (changes) => setShared((before) => ({ ...before, ...changes }))];
}

function keptBefore(): Shared | null {
  const kept = readKept('session', KEPT);
  if (kept === null || location.hash.startsWith('#1.')) return null;
  try {
    const { text, question } = JSON.parse(kept) as Shared;
    return typeof text === 'string' ? { text, question: { ...NO_QUESTION, ...question } } : null;
  } catch {
    // Written by another version.
    return null;
  }
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
