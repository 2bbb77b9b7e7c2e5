import { asError } from '../../../api/error.ts';
import { useRead } from '../../../api/queries.ts';
import { ButtonLink } from '../../../parts/button.tsx';
import { Empty } from '../../../parts/page.tsx';
import { Loading, Problem } from '../../../parts/problem.tsx';
import { PROVIDER_TYPE } from '../../../shell/panel-app.ts';
import { useRights } from '../../../shell/rights.ts';
import { useWords } from '../../../words/words.ts';
import type { ViewProps } from '../view-props.ts';
import { TemplateEditor } from './template-editor.tsx';
import { variantOf } from './variants.ts';

interface TemplatePageProps extends ViewProps {
  readonly type: string;
  /** The key of the template. */
  readonly variant: string;
  readonly locale: string;
}

/** One template: of a type, a key and a language. Where it is not written yet, what is sent instead is its beginning. */
export function TemplatePage({ appCode, mayEdit, type, locale, variant }: TemplatePageProps) {
  const { messages: words } = useWords().applications;
  const { isSuperAdmin } = useRights();
  const path = { appCode };
  const types = useRead('GET /api/applications/{appCode}/notification-types', { path });
  const templates = useRead('GET /api/applications/{appCode}/templates', { path });
  const languages = useRead('GET /api/languages', {}, { staleTime: 300_000 });
  const failed = [types, templates, languages].find(({ isError, data }) => isError && data === undefined);
  if (failed) return <Problem error={asError(failed.error)} onRetry={() => void failed.refetch()} />;
  if (types.data === undefined || templates.data === undefined || languages.data === undefined) return <Loading />;
  const of = types.data.data.find(({ code }) => code === type);
  if (of === undefined) {
    return (
      <Empty title={words.unknown}>
        <ButtonLink href={`/applications/${encodeURIComponent(appCode)}/messages`}>{words.back}</ButtonLink>
      </Empty>
    );
  }
  const variants = new Map(
    templates.data.data.filter((one) => one.type === type && one.key === variant).map((one) => [one.locale, one]),
  );
  const instead = variantOf(locale, new Set(variants.keys()), languages.data.data);
  return (
    <TemplateEditor
      appCode={appCode}
      place={{ type, key: variant, locale }}
      stored={variants.get(locale) ?? null}
      instead={instead === null ? null : (variants.get(instead) ?? null)}
      mayEdit={mayEdit && (type !== PROVIDER_TYPE || isSuperAdmin)}
    />
  );
}
