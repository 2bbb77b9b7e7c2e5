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
import { ApplicationFields, bodyOf, faultsOf, NEW_FORM } from './application-fields.tsx';

export function NewApplication({ onClose }: { onClose: () => void }) {
  const { applications, common } = useWords();
  const [code, setCode] = useState('');
  const [form, setForm] = useState(NEW_FORM);
  const [, navigate] = useLocation();
  const writing = useWrite({
    done: applications.made(form.name || code),
    refreshes: ['/api/applications', '/api/profile'],
  });
  const type = (typed: typeof form): void => {
    setCode(named({ name: form.name, code }, typed.name).code);
    setForm(typed);
  };
  const create = async (): Promise<void> => {
    const made = await writing.run(() => call('POST /api/applications', { body: { code, ...bodyOf(form) } }));
    if (!made) return;
    onClose();
    navigate(`/applications/${encodeURIComponent(code)}`);
  };
  return (
    <Dialog
      title={applications.new}
      onClose={onClose}
      act={{
        label: common.create,
        busy: writing.busy,
        disabled: missingOf(common, [common.name, form.name], [common.code, code]),
      }}
      onSubmit={() => void create()}
    >
      <ApplicationFields form={form} onForm={type} error={writing.error}>
        <TextField
          label={common.code}
          hint={applications.codeHint}
          fault={faultOf(writing.error, 'code')}
          value={code}
          onText={setCode}
          maxLength={64}
          required
        />
      </ApplicationFields>
      {!faultsOf(writing.error) && <Problem error={writing.error} />}
    </Dialog>
  );
}
