import { type ReactNode, useId } from 'react';
import { useRead } from '../../api/queries.ts';
import { faultOf, Switch, TextArea, TextField } from '../../parts/field.tsx';
import { useWords } from '../../words/words.ts';
import css from './applications.module.css';

/** What is typed of an application. */
export interface ApplicationForm {
  readonly name: string;
  readonly description: string;
  readonly supportedLanguages: readonly string[];
  readonly strictCodes: boolean;
  readonly tellEndings: boolean;
}

interface ApplicationRecord {
  readonly name: string;
  readonly description: string | null;
  readonly supportedLanguages: readonly string[];
  readonly strictCodes: boolean;
  readonly tellEndings: boolean;
}

export const NEW_FORM: ApplicationForm = {
  name: '',
  description: '',
  supportedLanguages: [],
  strictCodes: false,
  tellEndings: true,
};

export function formOf({
  name,
  description,
  supportedLanguages,
  strictCodes,
  tellEndings,
}: ApplicationRecord): ApplicationForm {
  return { name, description: description ?? '', supportedLanguages, strictCodes, tellEndings };
}

export function bodyOf({ name, description, supportedLanguages, strictCodes, tellEndings }: ApplicationForm) {
  const said = description.trim() === '' ? null : description;
  return { name, description: said, supportedLanguages: [...supportedLanguages], strictCodes, tellEndings };
}

const FAULTS = ['code', 'name', 'description', 'supportedLanguages', 'strictCodes', 'tellEndings'];

/** Whether an error stands at a field, so that it need not be shown again. */
export function faultsOf(error: Error | null): boolean {
  return FAULTS.some((path) => faultOf(error, path) !== null);
}

interface ApplicationFieldsProps {
  readonly form: ApplicationForm;
  readonly onForm: (form: ApplicationForm) => void;
  readonly error: Error | null;
  /** What stands below the name. */
  readonly children?: ReactNode;
}

export function ApplicationFields({ form, onForm, error, children }: ApplicationFieldsProps) {
  const { applications, common } = useWords();
  const words = applications.overview;
  const set = (change: Partial<ApplicationForm>) => onForm({ ...form, ...change });
  return (
    <>
      <TextField
        label={common.name}
        fault={faultOf(error, 'name')}
        value={form.name}
        onText={(name) => set({ name })}
        maxLength={200}
        required
      />
      {children}
      <TextArea
        label={common.description}
        fault={faultOf(error, 'description')}
        value={form.description}
        onText={(description) => set({ description })}
        maxLength={2_000}
      />
      <Languages
        chosen={form.supportedLanguages}
        fault={faultOf(error, 'supportedLanguages')}
        onChosen={(supportedLanguages) => set({ supportedLanguages })}
      />
      <Switch
        label={words.strict}
        hint={words.strictHint}
        checked={form.strictCodes}
        onChecked={(strictCodes) => set({ strictCodes })}
      />
      <Switch
        label={words.tellEndings}
        hint={words.tellEndingsHint}
        checked={form.tellEndings}
        onChecked={(tellEndings) => set({ tellEndings })}
      />
    </>
  );
}

interface LanguagesProps {
  readonly chosen: readonly string[];
  readonly fault: string | null;
  readonly onChosen: (chosen: readonly string[]) => void;
}

/** The languages of the registry. One that has left it since stays listed while it is chosen. */
function Languages({ chosen, fault, onChosen }: LanguagesProps) {
  const words = useWords().applications.overview;
  const id = useId();
  const languages = useRead('GET /api/languages', {});
  const known = languages.data?.data ?? [];
  const others = chosen.filter((code) => !known.some((language) => language.code === code));
  const listed = [...known, ...others.map((code) => ({ code, name: code }))];
  return (
    <div className={css.group}>
      <span id={id} className={css.label}>
        {words.languages}
      </span>
      <fieldset className={css.languages} aria-describedby={`${id}-hint`} aria-labelledby={id}>
        {listed.map(({ code, name }) => (
          <label key={code}>
            <input
              type="checkbox"
              checked={chosen.includes(code)}
              onChange={(event) =>
                onChosen(event.target.checked ? [...chosen, code] : chosen.filter((one) => one !== code))
              }
            />
            {name} <span className={css.soft}>{code}</span>
          </label>
        ))}
      </fieldset>
      <div id={`${id}-hint`} className={css.hint}>
        {words.languagesHint}
      </div>
      {fault && <p className={css.fault}>{fault}</p>}
    </div>
  );
}
