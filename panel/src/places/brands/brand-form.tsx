import { useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../../api/call.ts';
import { merged, refuse } from '../../api/merge.ts';
import { useWrite } from '../../api/writes.ts';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { faultOf, Switch, TextArea, TextField } from '../../parts/field.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useAction } from '../../shell/actions.ts';
import { useKeptDraft } from '../../shell/drafts.ts';
import { useKey } from '../../shell/keys.ts';
import type { Text } from '../../words/places.ts';
import { useWords } from '../../words/words.ts';
import css from './brands.module.css';
import { warningsOf } from './contrast.ts';
import { type Brand, type BrandDraft, changesOf, draftOf, inverseOf, isColor } from './draft.ts';
import { ImageField } from './image-field.tsx';
import { PreviewPane } from './preview-pane.tsx';
import { SmtpFields } from './smtp-fields.tsx';
import { TestMail } from './test-mail.tsx';

const REFRESHED = ['/api/admin/brands', '/api/brands', '/api/admin/overview'];

interface Edited {
  /** The state that was edited: what others change meanwhile is no change of the draft. */
  readonly base: Brand;
  readonly draft: BrandDraft;
}

function editedOf(base: Brand): Edited {
  return { base, draft: draftOf(base) };
}

function labelsOf({ brands: words, common }: Text): Partial<Record<keyof BrandDraft, string>> {
  return {
    ...words,
    name: common.name,
    idpOrgId: words.organization,
    isDefault: words.makeDefault,
    smtp: words.smtpOwn,
  };
}

/** One brand as a form, with its look as one types. */
export function BrandForm({ brand }: { brand: Brand }) {
  const all = useWords();
  const { brands: words, common } = all;
  const [kept, keep] = useKeptDraft<Edited>(`brand\n${brand.id}`);
  const { base, draft } = kept ?? editedOf(brand);
  const [open, setOpen] = useState<'test' | 'delete' | null>(null);
  const set = (changes: Partial<BrandDraft>) => keep({ base, draft: { ...draft, ...changes } });
  const change = changesOf(base, draft);
  const changed = Object.keys(change).length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a newer state is taken over only where nothing was typed
  useEffect(() => {
    if (changed === 0) keep(null);
  }, [brand]);
  /** What was stored is no change of the draft, and leaves the rest of it. */
  const takeImages = ({ logoUrl, iconUrl }: Brand) =>
    keep({ base: { ...base, logoUrl, iconUrl }, draft: { ...draft, logoUrl: logoUrl ?? '', iconUrl: iconUrl ?? '' } });
  const path = { id: brand.id };
  // Of the last save: what is saved is no change of the draft any more.
  const inverse = useRef<ReturnType<typeof inverseOf>>(null);
  const writing = useWrite(() => ({
    done: words.saved(draft.name),
    refreshes: REFRESHED,
    ...(inverse.current === null ? {} : { undo: undoOf(inverse.current) }),
  }));
  const undoOf = (body: NonNullable<typeof inverse.current>) => async () => {
    const { data } = await call('PUT /api/admin/brands/{id}', { path, body });
    keep(editedOf(data));
  };
  const save = () =>
    writing.run(async () => {
      const { data: now } = await call('GET /api/admin/brands/{id}', { path });
      const over = merged({ base: draftOf(base), draft }, draftOf(now));
      keep({ base: now, draft: over.draft });
      const there = draftOf(now);
      refuse(
        over.both,
        { ...there, smtp: there.smtp.own ? `${there.smtp.host}:${there.smtp.port}` : '' },
        labelsOf(all),
      );
      const body = changesOf(now, over.draft);
      inverse.current = inverseOf(now, body);
      const { data } = await call('PUT /api/admin/brands/{id}', { path, body });
      keep(editedOf(data));
    });
  useKey('mod+s', () => changed > 0 && void save());
  useAction(words.test, () => setOpen('test'));
  const { error } = writing;
  return (
    <Page
      title={brand.name}
      trail={[['/brands', words.title]]}
      lead={
        <>
          <code>{brand.slug}</code> {brand.isDefault && <Badge tone="accent">{words.defaultBadge}</Badge>}
        </>
      }
      actions={<Button onClick={() => setOpen('test')}>{words.test}</Button>}
    >
      <div className={css.editor}>
        <form
          className={css.form}
          onSubmit={(event) => {
            event.preventDefault();
            if (changed > 0) void save();
          }}
        >
          <Problem error={error} />
          <LookFields id={String(brand.id)} draft={draft} set={set} error={error} onStored={takeImages} />
          <Card title={words.sender}>
            <TextField
              label={words.emailFrom}
              type="email"
              value={draft.emailFrom}
              hint={words.senderDefault}
              fault={faultOf(error, 'emailFrom')}
              onText={(emailFrom) => set({ emailFrom })}
            />
            <TextField
              label={words.emailFromName}
              value={draft.emailFromName}
              maxLength={200}
              hint={words.nameDefault}
              fault={faultOf(error, 'emailFromName')}
              onText={(emailFromName) => set({ emailFromName })}
            />
            <TextField
              label={words.organization}
              value={draft.idpOrgId}
              maxLength={200}
              hint={words.organizationHint}
              fault={faultOf(error, 'idpOrgId')}
              onText={(idpOrgId) => set({ idpOrgId })}
            />
          </Card>
          <SmtpFields brand={brand} smtp={draft.smtp} error={error} set={(smtp) => set({ smtp })} />
          <Card title={words.defaultBadge}>
            <p className={css.soft}>{words.defaultWhy}</p>
            {brand.isDefault ? (
              <p>{words.isDefault}</p>
            ) : (
              <Switch
                label={words.makeDefault}
                checked={draft.isDefault}
                onChecked={(isDefault) => set({ isDefault })}
              />
            )}
            {!brand.isDefault && (
              <div>
                <Button kind="danger" onClick={() => setOpen('delete')}>
                  {words.remove}
                </Button>
              </div>
            )}
          </Card>
          {changed > 0 && (
            <div className={css.save}>
              <span role="status">{words.changed(changed)}</span>
              <Button onClick={() => keep(null)}>{common.discard}</Button>
              <Button kind="primary" type="submit" busy={writing.busy}>
                {common.save}
              </Button>
            </div>
          )}
        </form>
        <PreviewPane brand={brand} draft={draft} />
      </div>
      {open === 'test' && <TestMail brand={brand} onClose={() => setOpen(null)} />}
      {open === 'delete' && <DeleteBrand brand={brand} onClose={() => setOpen(null)} />}
    </Page>
  );
}

interface FieldsProps {
  readonly id: string;
  /** A picture was stored, beside what is typed. */
  readonly onStored: (brand: Brand) => void;
  readonly draft: BrandDraft;
  readonly set: (changes: Partial<BrandDraft>) => void;
  readonly error: Error | null;
}

function LookFields({ id, draft, set, error, onStored }: FieldsProps) {
  const { brands: words, common } = useWords();
  const look = {
    primaryColor: draft.primaryColor || null,
    backgroundColor: draft.backgroundColor || null,
    logoUrl: draft.logoUrl || null,
  };
  const whole = [draft.primaryColor, draft.backgroundColor].every((one) => one === '' || isColor(one));
  const warnings = whole ? warningsOf(look) : [];
  return (
    <Card title={words.look}>
      <TextField
        label={common.name}
        value={draft.name}
        maxLength={200}
        fault={faultOf(error, 'name')}
        onText={(name) => set({ name })}
      />
      <div className={css.colors}>
        <ColorField
          label={words.primaryColor}
          hint={words.primaryHint}
          value={draft.primaryColor}
          otherwise="#3451b2"
          fault={faultOf(error, 'primaryColor')}
          onText={(primaryColor) => set({ primaryColor })}
        />
        <ColorField
          label={words.backgroundColor}
          hint={words.backgroundHint}
          value={draft.backgroundColor}
          otherwise="#f4f5f7"
          fault={faultOf(error, 'backgroundColor')}
          onText={(backgroundColor) => set({ backgroundColor })}
        />
      </div>
      <div aria-live="polite">
        {warnings.map(({ what, ratio, needed, used }) => (
          <p key={what} className={css.warning}>
            {words.contrast[what](`${ratio.toFixed(1)} : 1`, `${needed} : 1`, used)}
          </p>
        ))}
      </div>
      {(['logo', 'icon'] as const).map((part) => (
        <ImageField
          key={part}
          id={id}
          part={part}
          label={words[`${part}Url`]}
          hint={words[`${part}Hint`]}
          value={draft[`${part}Url`]}
          error={error}
          onText={(url) => set({ [`${part}Url`]: url })}
          onStored={onStored}
        />
      ))}
      <TextArea
        label={words.footerText}
        value={draft.footerText}
        maxLength={2000}
        hint={words.footerHint}
        fault={faultOf(error, 'footerText')}
        onText={(footerText) => set({ footerText })}
      />
    </Card>
  );
}

interface ColorFieldProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  /** The color without one. */
  readonly otherwise: string;
  readonly fault: string | null;
  readonly onText: (value: string) => void;
}

function ColorField({ label, hint, value, otherwise, fault, onText }: ColorFieldProps) {
  const { brands: words } = useWords();
  const half = value !== '' && !isColor(value);
  return (
    <div className={css.color}>
      <input
        type="color"
        aria-label={words.pick(label)}
        value={isColor(value) ? value : otherwise}
        onChange={(event) => onText(event.target.value)}
      />
      <TextField
        label={label}
        hint={hint}
        value={value}
        placeholder={otherwise}
        maxLength={7}
        fault={half ? words.colorFault : fault}
        onText={onText}
      />
    </div>
  );
}

function DeleteBrand({ brand, onClose }: { brand: Brand; onClose: () => void }) {
  const { brands: words } = useWords();
  const [, go] = useLocation();
  const writing = useWrite({ done: words.removed(brand.name), refreshes: REFRESHED });
  const remove = async (): Promise<void> => {
    if (!(await writing.run(() => call('DELETE /api/admin/brands/{id}', { path: { id: brand.id } })))) return;
    onClose();
    go('/brands');
  };
  return (
    <Confirm title={words.removeTitle(brand.name)} writing={writing} onConfirm={remove} onClose={onClose}>
      {words.removeLead}
    </Confirm>
  );
}
