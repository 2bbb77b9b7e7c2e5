import { useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import { call } from '../../../api/call.ts';
import { saveFile } from '../../../api/csv.ts';
import { asError } from '../../../api/error.ts';
import { Button } from '../../../parts/button.tsx';
import type { Editor } from '../../../parts/code-editor.ts';
import { CodeField } from '../../../parts/code-field.tsx';
import { Switch } from '../../../parts/field.tsx';
import { useFilters } from '../../../parts/filters.ts';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { useAction } from '../../../shell/actions.ts';
import { useKeptDraft } from '../../../shell/drafts.ts';
import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../view-props.ts';
import css from './manifest.module.css';
import { usePlan } from './plan.ts';
import { PlanSide } from './plan-side.tsx';

const EXPORT = 'GET /api/applications/{appCode}/manifest';

interface Draft {
  readonly text: string;
  /** What was live when the draft was begun. */
  readonly base: string;
}

/** The application as one text: read, drafted, planned and applied. */
export default function Manifest({ appCode, mayEdit }: ViewProps) {
  const { applications } = useWords();
  const words = applications.manifest;
  const { values, set } = useFilters({ compare: '', prune: '' });
  const input = { path: { appCode } };
  const live = useQuery({
    queryKey: [EXPORT, input, 'yaml'],
    queryFn: async ({ signal }) => {
      const answer = await call(EXPORT, input, { signal, headers: { accept: 'application/yaml' } });
      return answer.data as unknown as string;
    },
  });
  const [draft, keep] = useKeptDraft<Draft>(`manifest\n${appCode}`);
  const editor = useRef<Pick<Editor, 'goTo'>>(null);
  const text = draft?.text ?? live.data ?? null;
  const changed = draft !== null && draft.text !== live.data;
  const prune = values.prune !== '';
  const planning = usePlan(appCode, mayEdit && (changed || prune) ? text : null, prune, live.data ?? '');
  const download = () => saveFile(`${appCode}.yaml`, text ?? '', 'application/yaml');
  useAction(words.download, download);
  if (text === null) {
    return live.isError ? (
      <Problem error={asError(live.error)} onRetry={() => void live.refetch()} />
    ) : (
      <Loading rows={8} />
    );
  }
  return (
    <div className={css.view}>
      <p className={css.lead}>{mayEdit ? words.lead : words.readOnly}</p>
      <div className={css.bar}>
        {mayEdit && (
          <>
            <Switch
              label={words.compare}
              checked={values.compare !== ''}
              onChecked={(on) => set({ compare: on ? '1' : '' })}
            />
            <Switch label={words.prune} checked={prune} onChecked={(on) => set({ prune: on ? '1' : '' })} />
          </>
        )}
        <Button onClick={download}>{words.download}</Button>
        {changed && <Button onClick={() => keep(null)}>{words.reset}</Button>}
      </div>
      {changed && draft.base !== live.data && <p role="status">{words.moved}</p>}
      <div className={mayEdit ? css.columns : css.view}>
        <CodeField
          label={words.editor}
          language="yaml"
          tall
          value={text}
          readOnly={!mayEdit}
          faults={planning.faults}
          original={values.compare === '' ? null : (live.data ?? null)}
          editor={editor}
          onText={(typed) => {
            if (typed !== text)
              keep(typed === live.data ? null : { text: typed, base: draft?.base ?? live.data ?? '' });
          }}
        />
        {mayEdit && (
          <PlanSide
            appCode={appCode}
            text={text}
            prune={prune}
            changed={changed || prune}
            planning={planning}
            onGo={(line, column) => editor.current?.goTo(line, column)}
            onApplied={() => keep(null)}
          />
        )}
      </div>
    </div>
  );
}
