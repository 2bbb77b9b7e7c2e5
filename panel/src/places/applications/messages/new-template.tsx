import { useState } from 'react';
import { useLocation } from 'wouter';
import type { Item, Template } from '../../../../../src/gen/api.ts';
import { missingOf } from '../../../parts/button.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { SelectField, TextField } from '../../../parts/field.tsx';
import { useWords } from '../../../words/words.ts';
import { templateHref } from './template-href.ts';

interface NewTemplateProps {
  readonly appCode: string;
  readonly type: string;
  readonly languages: readonly Item<'GET /api/languages'>[];
  /** Of the type: what is written already. */
  readonly templates: readonly Template[];
  /** Empty: every language. */
  readonly supported: readonly string[];
  readonly onClose: () => void;
}

/** Chooses the key and the language of a template; the editor does the rest. */
export function NewTemplate({ appCode, type, templates, languages, supported, onClose }: NewTemplateProps) {
  const { applications, common } = useWords();
  const words = applications.messages;
  const [, go] = useLocation();
  const offered = languages.filter(({ code }) => supported.length === 0 || supported.includes(code));
  const [key, setKey] = useState('default');
  const written = new Set(templates.filter((one) => one.key === key.trim()).map((one) => one.locale));
  const [chosen, setChosen] = useState<string | null>(null);
  // What is missing comes first; with English among it, English.
  const missing = offered.filter(({ code }) => !written.has(code)).map(({ code }) => code);
  const locale = chosen ?? (missing.includes('en') ? 'en' : (missing[0] ?? offered[0]?.code ?? 'en'));
  const exists = written.has(locale);
  const begin = (): void => {
    onClose();
    go(templateHref(appCode, { type, key: key.trim(), locale }));
  };
  return (
    <Dialog
      title={`${words.addVariant}: ${type}`}
      onClose={onClose}
      act={{ label: exists ? words.openIt : common.create, disabled: missingOf(common, [words.key, key]) }}
      onSubmit={begin}
    >
      <TextField label={words.key} value={key} hint={words.keyHint} required onText={setKey} />
      <SelectField
        label={words.language}
        value={locale}
        options={offered.map(
          ({ code, nativeName }) =>
            [code, `${nativeName} (${code})${written.has(code) ? ` – ${words.written}` : ''}`] as const,
        )}
        hint={exists ? words.existsHint : null}
        onText={setChosen}
      />
    </Dialog>
  );
}
