import { useContext, useState } from 'react';
import { call } from '../../../api/call.ts';
import { asError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { Problem } from '../../../parts/problem.tsx';
import { RightsContext } from '../../../shell/rights.ts';
import { useWords } from '../../../words/words.ts';
import css from '../ask.module.css';
import { useExplain } from '../asked.ts';
import { isComplete, type Question } from '../question.ts';
import type { Explained } from '../rules.ts';
import look from './playground.module.css';

/** The playground beside a running service. Signed out, it sends no request. */
export const Live = { Open, Beside };

/** Opens an application of the service as a manifest. */
function Open({ onOpen }: { onOpen: (text: string) => void }) {
  const rights = useContext(RightsContext);
  return rights?.any === true ? <OpenSignedIn onOpen={onOpen} /> : null;
}

function OpenSignedIn({ onOpen }: { onOpen: (text: string) => void }) {
  const { ask } = useWords();
  const words = ask.playground;
  const apps = useRead('GET /api/applications', {});
  const [error, setError] = useState<Error | null>(null);
  const open = async (appCode: string): Promise<void> => {
    setError(null);
    try {
      const headers = { accept: 'application/yaml' };
      const { data } = await call('GET /api/applications/{appCode}/manifest', { path: { appCode } }, { headers });
      // Asked for as YAML, it is a text, whatever the type of the JSON says.
      onOpen(data as unknown as string);
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  return (
    <>
      <select
        className={css.select}
        aria-label={words.openMine}
        value=""
        onChange={(event) => event.target.value !== '' && void open(event.target.value)}
      >
        <option value="">{words.openMine}…</option>
        {(apps.data?.data ?? []).map(({ code, name }) => (
          <option key={code} value={code}>
            {name} ({code})
          </option>
        ))}
      </select>
      <Problem error={error} />
    </>
  );
}

/** The live answer to the same question, where the signed-in person may ask for it. */
function Beside({ question, explained }: { question: Question; explained: Explained }) {
  const rights = useContext(RightsContext);
  if (rights === null || !isComplete(question) || rights.level(question.app) === null) return null;
  return <LiveAnswer question={question} explained={explained} />;
}

function LiveAnswer({ question, explained }: { question: Question; explained: Explained }) {
  const { ask, common } = useWords();
  const words = ask.playground;
  const answer = useExplain(question);
  if (answer.isPending) return null;
  if (answer.data === undefined) return <p className={css.soft}>{words.liveAway}</p>;
  const live: Explained = answer.data.data;
  const same =
    live.allowed === explained.allowed &&
    live.accessLevel === explained.accessLevel &&
    live.source === explained.source;
  const level = common.levels[live.accessLevel ?? 'none'];
  return (
    <p className={same ? css.soft : look.differs}>
      {words.live}: {same ? words.liveSame : live.allowed ? ask.answer.yes(level) : ask.answer.no}
    </p>
  );
}
