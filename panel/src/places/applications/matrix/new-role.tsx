import { useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../../../api/call.ts';
import { useWrite } from '../../../api/writes.ts';
import { missingOf } from '../../../parts/button.tsx';
import { named } from '../../../parts/code-of.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { faultOf, TextArea, TextField } from '../../../parts/field.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { useWords } from '../../../words/words.ts';

export function NewRole({ appCode, onClose }: { appCode: string; onClose: () => void }) {
  const { common, applications } = useWords();
  const words = applications.matrix;
  const [code, setCode] = useState('');
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [, navigate] = useLocation();
  const writing = useWrite({ done: words.roleMade(code), refreshes: [`/api/applications/${appCode}`] });
  const create = async (): Promise<void> => {
    const body = { code, name: name.trim() || null, description: description.trim() === '' ? null : description };
    const made = await writing.run(() => call('POST /api/applications/{appCode}/roles', { path: { appCode }, body }));
    if (!made) return;
    onClose();
    navigate(`/applications/${encodeURIComponent(appCode)}/matrix?role=${encodeURIComponent(code)}`);
  };
  const faults = ['code', 'name', 'description'].map((path) => faultOf(writing.error, path));
  return (
    <Dialog
      title={words.newRole}
      onClose={onClose}
      act={{ label: common.create, busy: writing.busy, disabled: missingOf(common, [common.code, code]) }}
      onSubmit={() => void create()}
    >
      <TextField
        label={common.name}
        fault={faults[1]}
        value={name}
        onText={(text) => {
          setCode(named({ name, code }, text).code);
          setName(text);
        }}
        maxLength={200}
        autoFocus
      />
      <TextField
        label={common.code}
        hint={words.roleCode}
        fault={faults[0]}
        value={code}
        onText={setCode}
        maxLength={64}
        required
      />
      <TextArea
        label={common.description}
        fault={faults[2]}
        value={description}
        onText={setDescription}
        maxLength={2000}
      />
      {faults.every((fault) => fault === null) && <Problem error={writing.error} />}
    </Dialog>
  );
}
