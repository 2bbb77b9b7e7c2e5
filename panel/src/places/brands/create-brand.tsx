import { useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../../api/call.ts';
import { useWrite } from '../../api/writes.ts';
import { missingOf } from '../../parts/button.tsx';
import { named } from '../../parts/code-of.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { faultOf, TextField } from '../../parts/field.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useWords } from '../../words/words.ts';

/** Makes a brand with its name alone; its page has the rest, with a preview. */
export function CreateBrand({ onClose }: { onClose: () => void }) {
  const { brands: words, common } = useWords();
  const [, go] = useLocation();
  const [slug, setSlug] = useState('');
  const [name, setName] = useState('');
  const writing = useWrite({ done: words.created(name), refreshes: ['/api/admin/brands', '/api/brands'] });
  const create = async (): Promise<void> => {
    if (!(await writing.run(() => call('POST /api/admin/brands', { body: { slug, name } })))) return;
    onClose();
    go(`/brands/${encodeURIComponent(slug)}`);
  };
  return (
    <Dialog
      title={words.create}
      onClose={onClose}
      act={{
        label: common.create,
        busy: writing.busy,
        disabled: missingOf(common, [common.name, name], [words.slug, slug]),
      }}
      onSubmit={() => void create()}
    >
      <Problem error={writing.error} />
      <TextField
        label={common.name}
        value={name}
        autoFocus
        maxLength={200}
        fault={faultOf(writing.error, 'name')}
        onText={(text) => {
          setSlug(named({ name, code: slug }, text).code);
          setName(text);
        }}
      />
      <TextField
        label={words.slug}
        value={slug}
        hint={words.slugHint}
        fault={faultOf(writing.error, 'slug')}
        onText={setSlug}
      />
    </Dialog>
  );
}
