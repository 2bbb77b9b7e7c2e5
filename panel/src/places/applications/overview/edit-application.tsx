import { useRef, useState } from 'react';
import type { Out } from '../../../../../src/gen/api.ts';
import { type Answer, call } from '../../../api/call.ts';
import { asError, isStale } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { useWrite } from '../../../api/writes.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { Facts } from '../../../parts/page.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { useWords } from '../../../words/words.ts';
import { ApplicationFields, type ApplicationForm, bodyOf, faultsOf, formOf } from '../application-fields.tsx';

type Application = Out<'GET /api/applications/{appCode}'>;

/** Changes what an application is called, says and speaks. It begins with what is there now. */
export function EditApplication({ appCode, onClose }: { appCode: string; onClose: () => void }) {
  const { applications } = useWords();
  const [started] = useState(Date.now);
  const read = useRead('GET /api/applications/{appCode}', { path: { appCode } }, { staleTime: 0 });
  if (read.data === undefined || read.dataUpdatedAt < started) {
    return (
      <Dialog title={applications.overview.edit} onClose={onClose}>
        {read.isError && !read.isFetching ? (
          <Problem error={asError(read.error)} onRetry={() => void read.refetch()} />
        ) : (
          <Loading />
        )}
      </Dialog>
    );
  }
  return <EditForm answer={read.data} onClose={onClose} />;
}

function EditForm({ answer, onClose }: { answer: Answer<Application>; onClose: () => void }) {
  const { applications, common } = useWords();
  const words = applications.overview;
  // What the form began with: a read while somebody types does not change it.
  const [before] = useState(answer);
  const [form, setForm] = useState(() => formOf(before.data));
  const [theirs, setTheirs] = useState<Answer<Application> | null>(null);
  const path = { appCode: before.data.code };
  const operation = 'PUT /api/applications/{appCode}';
  const written = useRef<string | null>(null);
  // By ETag: a change of words only makes no revision.
  const undo = () =>
    call(operation, { path, body: bodyOf(formOf(before.data)) }, { ifMatch: written.current ?? undefined });
  const writing = useWrite({ done: common.saved, refreshes: ['/api/applications'], undo });
  const save = async (over: Answer<Application>): Promise<void> => {
    const saved = await writing.run(async () => {
      try {
        const { etag } = await call(operation, { path, body: bodyOf(form) }, { ifMatch: over.etag ?? undefined });
        written.current = etag;
      } catch (error) {
        if (isStale(error)) {
          setTheirs(await call('GET /api/applications/{appCode}', { path }));
        }
        throw error;
      }
    });
    if (saved) onClose();
  };
  const unchanged = JSON.stringify(form) === JSON.stringify(formOf(before.data));
  return (
    <Dialog
      title={words.edit}
      dirty={!unchanged}
      onClose={onClose}
      act={{
        label: theirs === null ? common.save : words.saveAnyway,
        busy: writing.busy,
        disabled: form.name === '' && common.missing.fields([common.name]),
      }}
      onSubmit={() => void save(theirs ?? before)}
    >
      {theirs !== null && <Theirs mine={form} theirs={formOf(theirs.data)} />}
      <ApplicationFields form={form} onForm={setForm} error={writing.error} />
      {theirs === null && !faultsOf(writing.error) && <Problem error={writing.error} />}
    </Dialog>
  );
}

/** What somebody else saved meanwhile, where it differs from what is typed. */
function Theirs({ mine, theirs }: { mine: ApplicationForm; theirs: ApplicationForm }) {
  const { applications, common } = useWords();
  const words = applications.overview;
  const facts = [
    [common.name, theirs.name, mine.name],
    [common.description, theirs.description, mine.description],
    [words.languages, theirs.supportedLanguages.join(', '), mine.supportedLanguages.join(', ')],
    [words.strict, theirs.strictCodes ? common.yes : common.no, mine.strictCodes ? common.yes : common.no],
    [words.tellEndings, theirs.tellEndings ? common.yes : common.no, mine.tellEndings ? common.yes : common.no],
  ] as const;
  return (
    <section role="alert" aria-label={words.stale}>
      <p>{words.stale}</p>
      <Facts
        facts={facts.filter(([, one, other]) => one !== other).map(([name, one]) => [name, one || '–'] as const)}
      />
    </section>
  );
}
