import { asError } from '../../api/error.ts';
import { useRead } from '../../api/queries.ts';
import { Choice } from '../../parts/choice.tsx';
import { useFilters } from '../../parts/filters.ts';
import { MailPreview } from '../../parts/mail-preview.tsx';
import { Loading, Problem } from '../../parts/problem.tsx';
import { usePaused } from '../../parts/use-paused.ts';
import { useWords } from '../../words/words.ts';
import css from './brands.module.css';
import { type Brand, type BrandDraft, previewOf } from './draft.ts';

const KINDS = ['mail', 'unsubscribe', 'push'] as const;
type Kind = (typeof KINDS)[number];

/** Typing pauses this long before the service is asked. */
const PAUSE_MS = 120;

/** What is being edited as the service would render it: the mail, the page behind its link, a push. */
export function PreviewPane({ brand, draft }: { brand: Brand; draft: BrandDraft }) {
  const { brands: words } = useWords();
  const { values, set } = useFilters({ kind: 'mail', scheme: 'light', width: '600' });
  const kind = KINDS.includes(values.kind as Kind) ? (values.kind as Kind) : 'mail';
  const body = usePaused(JSON.stringify(previewOf(draft, kind)), PAUSE_MS);
  const path = { id: brand.id };
  const input = { path, body: JSON.parse(body) as ReturnType<typeof previewOf> };
  // Nothing is written: a read whose question is a body.
  const asked = useRead('POST /api/admin/brands/{id}/preview', input, { keep: true });
  const shown = asked.data?.data;
  const dark = values.scheme === 'dark';
  return (
    <section className={css.pane} aria-label={words.preview}>
      <div className={css.controls}>
        <Choice
          label={words.kind}
          value={kind}
          options={KINDS.map((one) => [one, words.kinds[one]])}
          onChosen={(to) => set({ kind: to })}
        />
        {kind !== 'push' && (
          <Choice
            label={words.scheme}
            value={dark ? 'dark' : 'light'}
            options={[
              ['light', words.light],
              ['dark', words.dark],
            ]}
            onChosen={(scheme) => set({ scheme })}
          />
        )}
        {kind !== 'push' && (
          <Choice
            label={words.width}
            value={values.width === '390' ? '390' : '600'}
            options={Object.entries(words.widths)}
            onChosen={(width) => set({ width })}
          />
        )}
      </div>
      {asked.isPending && <Loading rows={6} />}
      {asked.isError && <Problem error={asError(asked.error)} onRetry={() => void asked.refetch()} />}
      {shown?.kind === 'mail' && <p className={css.soft}>{words.subject(shown.subject)}</p>}
      {shown !== undefined && shown.kind !== 'push' && (
        <MailPreview
          html={shown.html}
          width={values.width === '390' ? 390 : 600}
          dark={dark}
          label={words.previewOf(draft.name)}
        />
      )}
      {shown?.kind === 'push' && (
        <div className={css.push}>
          {shown.icon !== null && <img src={shown.icon} alt="" referrerPolicy="no-referrer" />}
          <div>
            <strong dir="auto">{shown.title}</strong>
            <p dir="auto">{shown.body}</p>
          </div>
        </div>
      )}
    </section>
  );
}
