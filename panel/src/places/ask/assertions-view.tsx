import { useState } from 'react';
import { Link } from 'wouter';
import { call } from '../../api/call.ts';
import { saveFile } from '../../api/csv.ts';
import { asError } from '../../api/error.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Card, Empty } from '../../parts/page.tsx';
import { wordsOf } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';
import css from './ask.module.css';
import { differenceOf, dropAssertion, keepAssertion, questionOf, readAssertions } from './assertions.ts';
import {
  bodyOf,
  caseOf,
  isComplete,
  NO_QUESTION,
  type Question,
  queryOf,
  type TestCase,
  testFileOf,
  type Verdict,
} from './question.ts';

/** Undefined: not run. `null`: as expected. A text: it could not be asked. */
type Result = Verdict | string | null | undefined;

/** The kept questions of an application: run here, or taken to `usher test`. */
export function AssertionsView({ question }: { question: Question }) {
  const words = useWords();
  const { assertions } = words.ask;
  const { app } = question;
  const [tests, setTests] = useState(() => readAssertions(app));
  const [ofApp, setOfApp] = useState(app);
  const [results, setResults] = useState<ReadonlyMap<string, Result>>(new Map());
  const [busy, setBusy] = useState(false);
  if (ofApp !== app) {
    setOfApp(app);
    setTests(readAssertions(app));
    setResults(new Map());
  }
  const run = async (): Promise<void> => {
    setBusy(true);
    for (const test of tests) {
      const result = await resultOf(app, test).catch((error: unknown) => wordsOf(asError(error), words));
      setResults((before) => new Map(before).set(questionOf(test), result));
    }
    setBusy(false);
  };
  const add = async (): Promise<void> => {
    const { data } = await call('POST /api/applications/{appCode}/explain', {
      path: { appCode: app },
      body: bodyOf(question),
    });
    keepAssertion(app, caseOf(question, data));
    setTests(readAssertions(app));
  };
  const drop = (test: TestCase): void => {
    dropAssertion(app, test);
    setTests(readAssertions(app));
  };
  const outcomes = tests.map((test) => results.get(questionOf(test)));
  const passed = outcomes.filter((result) => result === null).length;
  const failed = outcomes.filter((result) => result !== null && result !== undefined).length;
  if (app === '') return <p role="status">{assertions.noApp}</p>;
  return (
    <Card
      title={assertions.title}
      actions={
        <div className={css.buttons}>
          {isComplete(question) && <Button onClick={() => void add()}>{assertions.add}</Button>}
          {tests.length > 0 && (
            <>
              <Button
                onClick={() => saveFile(`${app}.test.yaml`, testFileOf(`${app}.yaml`, tests), 'application/yaml')}
              >
                {assertions.export}
              </Button>
              <Button kind="primary" busy={busy} onClick={() => void run()}>
                {assertions.run}
              </Button>
            </>
          )}
        </div>
      }
    >
      <p className={css.soft}>{assertions.lead}</p>
      <p role="status" className={css.buttons}>
        {passed > 0 && <Badge tone="good">{assertions.passed(passed)}</Badge>}
        {failed > 0 && <Badge tone="bad">{assertions.failed(failed)}</Badge>}
      </p>
      {tests.length === 0 && <Empty title={assertions.empty} />}
      <ul className={css.assertions}>
        {tests.map((test) => (
          <li key={questionOf(test)}>
            <Assertion app={app} test={test} result={results.get(questionOf(test))} />
            <Button kind="quiet" onClick={() => drop(test)}>
              {words.common.remove}
              <span className="visually-hidden">
                {' '}
                {test.email} {test.permission} {test.resource}
              </span>
            </Button>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Assertion({ app, test, result }: { app: string; test: TestCase; result: Result }) {
  const { ask, common } = useWords();
  const words = ask.assertions;
  const expected = `${test.expect}${test.via === undefined ? '' : `, ${words.via(test.via)}`}`;
  return (
    <>
      <span>
        <Link href={`/ask?${queryOf(questionIn(app, test))}`}>
          {test.email} {test.permission} {test.resource} {test.level}
        </Link>{' '}
        <span className={css.soft}>{words.expected(expected)}</span>
      </span>
      <span>
        {result === undefined && <span className={css.soft}>{words.waiting}</span>}
        {result === null && <Badge tone="good">{words.pass}</Badge>}
        {typeof result === 'string' && <Badge tone="bad">{result}</Badge>}
        {typeof result === 'object' && result !== null && (
          <Badge tone="bad">
            {words.got(`${common.levels[result.accessLevel ?? 'none']}, ${words.via(result.source ?? 'none')}`)}
          </Badge>
        )}
      </span>
    </>
  );
}

async function resultOf(app: string, test: TestCase): Promise<Result> {
  const body = bodyOf(questionIn(app, test));
  const { data } = await call('POST /api/applications/{appCode}/explain', { path: { appCode: app }, body });
  return differenceOf(test, data);
}

function questionIn(app: string, { email, permission, resource = '', level }: TestCase): Question {
  const at = resource.indexOf(':');
  const record = at < 0 ? {} : { resourceType: resource.slice(0, at), resourceId: resource.slice(at + 1) };
  return { ...NO_QUESTION, app, email, permission, level: level ?? '', ...record };
}
