import { useState } from 'react';
import { call } from '../../api/call.ts';
import { useEdited } from '../../api/edited.ts';
import { useList } from '../../api/queries.ts';
import { useWrite } from '../../api/writes.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { faultOf, SelectField, TextField } from '../../parts/field.tsx';
import { type Column, ExportButton, List } from '../../parts/list.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useAction } from '../../shell/actions.ts';
import { useWords } from '../../words/words.ts';
import { chainOf, fallbacksOf, type LanguageRecord } from './language-draft.ts';
import css from './settings.module.css';

/** The language that everything falls back to at last. */
const LAST = 'en';

/** The registry: languages that profiles, applications and templates may name. */
export function Languages() {
  const { settings, common } = useWords();
  const words = settings.languages;
  const [editing, setEditing] = useState<LanguageRecord | 'new' | null>(null);
  const [deleting, setDeleting] = useState<LanguageRecord | null>(null);
  const listed = useList('GET /api/languages', {});
  useAction(words.add, () => setEditing('new'));
  const columns: readonly Column<LanguageRecord>[] = [
    {
      title: common.code,
      width: 'clamp(3.5rem, 8vw, 6rem)',
      cell: ({ code }) => <code>{code}</code>,
      csv: ({ code }) => code,
    },
    { title: words.nativeName, cell: ({ nativeName }) => nativeName, csv: ({ nativeName }) => nativeName },
    { title: common.name, wide: true, cell: ({ name }) => name, csv: ({ name }) => name },
    {
      title: words.fallbacks,
      wide: true,
      cell: ({ code }) => (
        <span className={css.badges}>
          {chainOf(code, listed.items)
            .slice(1)
            .map((one) => (
              <Badge key={one}>{one}</Badge>
            ))}
        </span>
      ),
      csv: ({ fallback }) => fallback,
    },
    {
      title: common.actions,
      // Two words of any language side by side, and one below the other in a narrow window.
      width: 'clamp(6rem, 16vw, 11.5rem)',
      cell: (language) => (
        <span className={css.acts}>
          <Button kind="quiet" aria-label={`${common.edit}: ${language.code}`} onClick={() => setEditing(language)}>
            {common.edit}
          </Button>
          {language.code !== LAST && (
            <Button
              kind="quiet"
              aria-label={`${common.remove}: ${language.code}`}
              onClick={() => setDeleting(language)}
            >
              {common.remove}
            </Button>
          )}
        </span>
      ),
    },
  ];
  return (
    <>
      <div className={css.bar}>
        <p className={css.soft}>{words.why}</p>
        <span className={css.acts}>
          <ExportButton name="languages" items={listed.items} columns={columns} />
          <Button kind="primary" onClick={() => setEditing('new')}>
            {words.add}
          </Button>
        </span>
      </div>
      <List label={words.title} listed={listed} columns={columns} keyOf={({ code }) => code} />
      {editing !== null && (
        <LanguageDialog
          language={editing === 'new' ? null : editing}
          all={listed.items}
          onClose={() => setEditing(null)}
        />
      )}
      {deleting !== null && <DeleteDialog language={deleting} onClose={() => setDeleting(null)} />}
    </>
  );
}

interface LanguageDialogProps {
  readonly language: LanguageRecord | null;
  readonly all: readonly LanguageRecord[];
  readonly onClose: () => void;
}

const NO_LANGUAGE: LanguageRecord = { code: '', name: '', nativeName: '', fallback: null };

function LanguageDialog({ language, all, onClose }: LanguageDialogProps) {
  const { settings, common } = useWords();
  const words = settings.languages;
  const record = useEdited(() => language ?? NO_LANGUAGE);
  const { set, settle } = record;
  const { code, name, nativeName, fallback } = record.draft;
  const labels = { name: common.name, nativeName: words.nativeName, fallback: words.fallback };
  const writing = useWrite({ done: common.saved, refreshes: ['/api/languages'] });
  const submit = async (): Promise<void> => {
    const draft = { code: code.trim(), name: name.trim(), nativeName: nativeName.trim(), fallback };
    const made = await writing.run(async () => {
      if (language === null) return await call('POST /api/languages', { body: draft });
      const read = async () => (await call('GET /api/languages', {})).data.find((one) => one.code === code);
      const body = await settle(read, labels, draft);
      return await call('PUT /api/languages/{code}', { path: { code }, body });
    });
    if (made) onClose();
  };
  const isAtField = ['code', 'name', 'nativeName', 'fallback'].some((path) => faultOf(writing.error, path) !== null);
  return (
    <Dialog
      title={language === null ? words.add : words.edit(language.code)}
      onClose={onClose}
      act={{ label: common.save, busy: writing.busy }}
      onSubmit={() => void submit()}
    >
      {language === null && (
        <TextField
          label={common.code}
          placeholder="pt-br"
          hint={words.codeWhy}
          fault={faultOf(writing.error, 'code')}
          value={code}
          required
          autoFocus
          onText={(value) => set({ code: value.toLowerCase() })}
        />
      )}
      <TextField
        label={words.nativeName}
        placeholder="Português do Brasil"
        fault={faultOf(writing.error, 'nativeName')}
        value={nativeName}
        required
        onText={(value) => set({ nativeName: value })}
      />
      <TextField
        label={common.name}
        placeholder="Portuguese (Brazil)"
        fault={faultOf(writing.error, 'name')}
        value={name}
        required
        onText={(value) => set({ name: value })}
      />
      <SelectField
        label={words.fallback}
        hint={words.fallbackWhy}
        fault={faultOf(writing.error, 'fallback')}
        value={fallback ?? ''}
        options={[['', common.none], ...fallbacksOf(code, all).map((one) => [one.code, one.nativeName] as const)]}
        onText={(value) => set({ fallback: value === '' ? null : value })}
      />
      {!isAtField && <Problem error={writing.error} />}
    </Dialog>
  );
}

function DeleteDialog({ language, onClose }: { language: LanguageRecord; onClose: () => void }) {
  const { settings } = useWords();
  const words = settings.languages;
  const { code } = language;
  const writing = useWrite({
    done: words.deleted(code),
    refreshes: ['/api/languages'],
    undo: () => call('POST /api/languages', { body: language }),
  });
  const remove = async (): Promise<void> => {
    if (await writing.run(() => call('DELETE /api/languages/{code}', { path: { code } }))) onClose();
  };
  return (
    <Confirm title={words.deleteOf(code)} writing={writing} onConfirm={remove} onClose={onClose}>
      {words.deleteWhy}
    </Confirm>
  );
}
