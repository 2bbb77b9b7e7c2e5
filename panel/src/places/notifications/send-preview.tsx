import { useState } from 'react';
import type { Template } from '../../../../src/gen/api.ts';
import { Choice } from '../../parts/choice.tsx';
import { Card } from '../../parts/page.tsx';
import { useWords } from '../../words/words.ts';
import { contentOf, draftOf } from '../applications/messages/draft.ts';
import { Preview, usePreview } from '../applications/messages/preview.tsx';

interface SendPreviewProps {
  readonly appCode: string;
  /** The templates of the type and key, one for each language. */
  readonly variants: readonly Template[];
  readonly payload: Readonly<Record<string, unknown>>;
  /** The language that the send asks for; empty: each recipient's own. */
  readonly wanted: string;
}

/** What people get, in each language that is written and by each channel, with the values that are typed. */
export default function SendPreview({ appCode, variants, payload, wanted }: SendPreviewProps) {
  const { notifications: words } = useWords();
  const [chosen, setChosen] = useState('');
  const of = variants.find(({ locale }) => locale === (chosen || wanted)) ?? variants[0];
  if (of === undefined) return null;
  return (
    <Card
      title={words.preview}
      actions={
        <Choice
          label={words.language}
          value={of.locale}
          options={variants.map(({ locale }) => [locale, locale] as const)}
          onChosen={setChosen}
        />
      }
    >
      <Rendered appCode={appCode} template={of} payload={payload} />
    </Card>
  );
}

function Rendered({
  appCode,
  template,
  payload,
}: {
  appCode: string;
  template: Template;
  payload: SendPreviewProps['payload'];
}) {
  const preview = usePreview(appCode, {
    ...contentOf(draftOf(template)),
    locale: template.locale,
    payload: { ...payload },
  });
  return <Preview preview={preview} />;
}
