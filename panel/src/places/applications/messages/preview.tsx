import { keepPreviousData, type UseQueryResult, useQuery } from '@tanstack/react-query';
import { useRef } from 'react';
import type { Out } from '../../../../../src/gen/api.ts';
import { call } from '../../../api/call.ts';
import { ApiError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { SelectField } from '../../../parts/field.tsx';
import { useFilters } from '../../../parts/filters.ts';
import { MailPreview } from '../../../parts/mail-preview.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { usePaused } from '../../../parts/use-paused.ts';
import { useWords } from '../../../words/words.ts';
import type { contentOf } from './draft.ts';
import css from './messages.module.css';

const PREVIEW = 'POST /api/applications/{appCode}/templates/preview';
type Rendered = Out<typeof PREVIEW>;

interface Drafted extends ReturnType<typeof contentOf> {
  readonly locale: string;
  readonly payload: Record<string, unknown>;
}

/** Typing pauses this long before the service renders. */
const PAUSE_MS = 300;
/** The filters of a preview in the address. */
const CHOICES = { brand: '', width: '600', look: 'light' };

/** A draft as the service renders it; nothing is stored. */
export function usePreview(appCode: string, drafted: Drafted): UseQueryResult<Rendered> {
  const { values } = useFilters(CHOICES);
  const wanted = JSON.stringify({ ...drafted, ...(values.brand === '' ? {} : { brand: values.brand }) });
  const paused = usePaused(wanted, PAUSE_MS);
  return useQuery({
    queryKey: [PREVIEW, { path: { appCode } }, paused],
    queryFn: async ({ signal }) => {
      const body = JSON.parse(paused) as Drafted & { requiredVariables: string[] };
      return (await call(PREVIEW, { path: { appCode }, body }, { signal })).data;
    },
    // A mail without a subject is refused.
    enabled: (JSON.parse(paused) as Drafted).subject.trim() !== '',
    placeholderData: keepPreviousData,
    // The variables of a draft are about the reader; nothing else changes it.
    staleTime: 60_000,
    gcTime: 10_000,
  });
}

/** The mail, the text part and the push, as people get them. */
export function Preview({ preview }: { preview: UseQueryResult<Rendered> }) {
  const { messages: words } = useWords().applications;
  const { values, set } = useFilters(CHOICES);
  const brands = useRead('GET /api/brands', {}, { staleTime: 300_000 });
  const { error } = preview;
  // A draft that does not parse leaves what was seen last.
  const last = useRef<Rendered | undefined>(undefined);
  last.current = preview.data ?? last.current;
  const data = last.current;
  // Faults of parts stand at their fields.
  const elsewhere = error instanceof ApiError && error.issues.length > 0;
  return (
    <>
      <div className={css.choices}>
        <SelectField
          bare
          label={words.brand}
          value={values.brand}
          options={[
            ['', words.myBrand],
            ...(brands.data?.data ?? []).map(({ slug, name }) => [slug, name || slug] as const),
          ]}
          onText={(brand) => set({ brand })}
        />
        <SelectField
          bare
          label={words.width}
          value={values.width}
          options={[
            ['600', words.wide],
            ['390', words.narrow],
          ]}
          onText={(width) => set({ width })}
        />
        <SelectField
          bare
          label={words.look}
          value={values.look}
          options={[
            ['light', words.light],
            ['dark', words.dark],
          ]}
          onText={(look) => set({ look })}
        />
      </div>
      {error !== null && !elsewhere && <Problem error={error} onRetry={() => void preview.refetch()} />}
      {data === undefined && error === null && preview.isFetching && <Loading rows={4} />}
      {data !== undefined && (
        <>
          <p className={css.subject}>{data.subject}</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
          <section className={css.frame} tabIndex={0} aria-label={words.preview}>
            <MailPreview
              html={data.html}
              width={values.width === '390' ? 390 : 600}
              dark={values.look === 'dark'}
              label={words.frame}
            />
          </section>
          <div className={css.pushCard}>
            <small>
              {words.push} · {words.now}
            </small>
            <strong dir="auto">{data.push.title}</strong>
            <bdi>{data.push.body}</bdi>
          </div>
          <section aria-label={words.text}>
            <span className={css.label}>{words.text}</span>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by keyboard */}
            <pre className={css.text} tabIndex={0}>
              {data.text}
            </pre>
          </section>
        </>
      )}
    </>
  );
}
