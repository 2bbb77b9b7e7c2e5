import { useState } from 'react';
import { useLocation } from 'wouter';
import type { Item } from '../../../../../src/gen/api.ts';
import { missingOf } from '../../../parts/button.tsx';
import { Dialog } from '../../../parts/dialog.tsx';
import { SelectField, TextField } from '../../../parts/field.tsx';
import { useWords } from '../../../words/words.ts';
import { templateHref } from './template-href.ts';

interface NewTemplateProps {
  readonly appCode: string;
  readonly type: string;
  readonly languages: readonly Item<'GET /api/languages'>[];
  /** Empty: every language. */
  readonly supported: readonly string[];
  readonly onClose: () => void;
}

/** Chooses the key and the language of a template; the editor does the rest. */
export function NewTemplate({ appCode, type, languages, supported, onClose }: NewTemplateProps) {
  const { applications, common } = useWords();
  const words = applications.messages;
  const [, go] = useLocation();
  const offered = languages.filter(({ code }) => supported.length === 0 || supported.includes(code));
  const [key, setKey] = useState('default');
  const [locale, setLocale] = useState(offered.find(({ code }) => code === 'en')?.code ?? offered[0]?.code ?? 'en');
  const begin = (): void => {
    onClose();
    go(templateHref(appCode, { type, key: key.trim(), locale }));
  };
  return (
    <Dialog
      title={`${words.addVariant}: ${type}`}
      onClose={onClose}
      act={{ label: words.begin, disabled: missingOf(common, [words.key, key]) }}
      onSubmit={begin}
    >
      <TextField label={words.key} value={key} hint={words.keyHint} required onText={setKey} />
      <SelectField
        label={words.language}
        value={locale}
        options={offered.map(({ code, nativeName }) => [code, `${nativeName} (${code})`] as const)}
        onText={setLocale}
      />
    </Dialog>
  );
}
