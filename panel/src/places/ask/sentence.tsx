import { type ReactNode, useState } from 'react';
import type { Item } from '../../../../src/gen/api.ts';
import { useRead } from '../../api/queries.ts';
import { type Choice, ComboField } from '../../parts/combo-field.tsx';
import { useWords } from '../../words/words.ts';
import css from './ask.module.css';
import type { Catalog } from './asked.ts';
import type { Question } from './question.ts';

interface SentenceProps {
  readonly question: Question;
  readonly change: (changes: Partial<Question>) => void;
  /** Known without asking: of a manifest. */
  readonly people?: readonly Choice[];
  readonly records?: readonly Choice[];
  readonly permissions: readonly Choice[];
  readonly types: readonly Choice[];
  /** The catalog of an application that the person may look into; null asks for no suggestions. */
  readonly suggest: Catalog | null;
  readonly apps: readonly Choice[] | null;
  /** Whether the permission has levels; null while it is unknown. */
  readonly tiered: boolean | null;
  /** Fixed: the person asks about themselves. */
  readonly own?: boolean;
  /** Nobody is named: it asks who may. */
  readonly who?: boolean;
}

/** "May [person] [permission] [level] on [record] in [application]?", each part a field; or "Who may …?". */
export function Sentence(props: SentenceProps) {
  const { question, change, permissions, types, apps, tiered, own = false, who = false } = props;
  const { ask } = useWords();
  const words = ask.sentence;
  return (
    <section className={css.sentence} aria-label={words.label}>
      <span className={css.word}>{own ? ask.own.may : who ? words.whoMay : words.may}</span>
      {!own && !who && <PersonPart {...props} />}
      <Part size="wide">
        <ComboField
          bare
          label={words.permission}
          placeholder={words.permissionHint}
          value={question.permission}
          choices={matching(permissions, question.permission)}
          onText={(permission) => change({ permission })}
        />
      </Part>
      {tiered !== false && (
        <select
          className={css.select}
          aria-label={words.level}
          value={question.level}
          onChange={(event) => change({ level: event.target.value })}
        >
          <option value="">{words.anyLevel}</option>
          <option value="view">view</option>
          <option value="edit">edit</option>
        </select>
      )}
      <span className={css.word}>{words.on}</span>
      <Part size="narrow">
        <ComboField
          bare
          label={words.type}
          placeholder={words.typeHint}
          value={question.resourceType}
          choices={matching(types, question.resourceType)}
          onText={(resourceType) => change({ resourceType, ...(resourceType === '' ? { resourceId: '' } : {}) })}
        />
      </Part>
      <RecordPart {...props} />
      {apps !== null && (
        <>
          <span className={css.word}>{words.in}</span>
          <span className={css.tail}>
            <Part size="narrow">
              <ComboField
                bare
                label={words.app}
                placeholder={words.appHint}
                value={question.app}
                choices={matching(apps, question.app)}
                onText={(app) => change({ app })}
              />
            </Part>
            <span className={css.word}>{words.end}</span>
          </span>
        </>
      )}
      {apps === null && <span className={css.word}>{words.end}</span>}
    </section>
  );
}

/** People are asked for only once the field is used. */
function PersonPart({ question, change, suggest, people }: SentenceProps) {
  const { ask } = useWords();
  const [wanted, setWanted] = useState(false);
  const query = { q: question.email.trim().slice(0, 64), limit: 12, appCode: suggest === null ? '' : question.app };
  const found = useRead('GET /api/users', { query }, { enabled: wanted && people === undefined, keep: true });
  const choices =
    people === undefined
      ? (found.data?.data ?? []).map(({ email, displayName }) => ({ value: email, note: displayName }))
      : matching(people, question.email);
  return (
    <Part size="wide" onFocus={() => setWanted(true)}>
      <ComboField
        bare
        label={ask.sentence.person}
        placeholder="name@example.com"
        value={question.email}
        choices={choices}
        onText={(email) => change({ email })}
      />
    </Part>
  );
}

function RecordPart({ question, change, suggest, records }: SentenceProps) {
  const { ask } = useWords();
  const [wanted, setWanted] = useState(false);
  const found = useRecords(question, suggest, wanted);
  return (
    <Part size="narrow" onFocus={() => setWanted(true)}>
      <ComboField
        bare
        label={ask.sentence.id}
        placeholder={ask.sentence.idHint}
        value={question.resourceId}
        choices={matching(records ?? found, question.resourceId)}
        onText={(resourceId) => change({ resourceId })}
      />
    </Part>
  );
}

/** Records that the application lists, and those that overrides name. */
function useRecords({ app: appCode, resourceType }: Question, catalog: Catalog | null, wanted: boolean): Choice[] {
  const entity = catalog?.entities?.find(({ code }) => code === resourceType);
  const enabled = catalog !== null && wanted && resourceType !== '';
  const overrides = useRead(
    'GET /api/applications/{appCode}/overrides',
    { path: { appCode }, query: { resourceType, limit: 100 } },
    { enabled },
  );
  const items = useRead(
    'GET /api/applications/{appCode}/entities/{entityCode}/items',
    { path: { appCode, entityCode: resourceType } },
    { enabled: enabled && entity?.listEndpoint != null },
  );
  const listed = (items.data?.data.items ?? []).map(({ id, label }) => ({ value: id, note: label }));
  const known = new Set(listed.map(({ value }) => value));
  const others = (overrides.data?.data ?? []).map(({ resourceId }) => resourceId).filter((id) => !known.has(id));
  return [...listed, ...[...new Set(others)].map((value) => ({ value }))];
}

function Part({ size, onFocus, children }: { size: 'wide' | 'narrow'; onFocus?: () => void; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: hears that the field in it is used, and does nothing itself
    <div className={`${css.part} ${css[size]}`} onFocus={onFocus}>
      {children}
    </div>
  );
}

const MAX_CHOICES = 50;

/** Those that hold what is typed; all of them where it is one of them already. */
function matching(choices: readonly Choice[], text: string): readonly Choice[] {
  const wanted = text.toLowerCase();
  const exact = choices.some(({ value }) => value === text);
  return choices
    .filter(({ value, note }) => exact || `${value}\n${note ?? ''}`.toLowerCase().includes(wanted))
    .slice(0, MAX_CHOICES);
}

export function appChoices(apps: readonly Item<'GET /api/applications'>[]): Choice[] {
  return apps.map(({ code, name }) => ({ value: code, note: name }));
}
