import type { ReactNode } from 'react';
import { SelectField, TextField } from '../../parts/field.tsx';
import { type Filters, useFilters } from '../../parts/filters.ts';
import { SearchField } from '../../parts/search-field.tsx';
import { useWords } from '../../words/words.ts';
import { dayAt, momentOf } from './moments.ts';
import css from './timeline.module.css';

const NAMES = { app: '', person: '', area: '', q: '', from: '', to: '' };
type Name = keyof typeof NAMES;

interface AuditQuery {
  readonly person: string;
  readonly actionPrefix: string;
  readonly q: string;
  readonly from: string;
  readonly to: string;
}

/** The filters of an audit, as they stand in the address and as the service takes them. */
export function useAuditFilters(): Filters<Name> & { readonly query: AuditQuery; readonly filtered: boolean } {
  const filters = useFilters<Name>(NAMES);
  const { person, area, q, from, to } = filters.values;
  const query = {
    // Half an address is nobody's.
    person: /^[^@\s]+@[^@\s]+\.[^@\s]{2,}$/.test(person.trim()) ? person.trim() : '',
    actionPrefix: area,
    q,
    from: momentOf(from, 'start'),
    to: momentOf(to, 'end'),
  };
  return { ...filters, query, filtered: Object.values(query).some((value) => value !== '') };
}

interface AuditFiltersProps {
  readonly filters: Filters<Name>;
  readonly children?: ReactNode;
  readonly actions?: ReactNode;
}

/** `children` stand before the filters of time, `actions` at the end. */
export function AuditFilters({ filters: { values, set }, children, actions }: AuditFiltersProps) {
  const { activity: words } = useWords();
  return (
    <search className={css.filters}>
      <div className={css.person}>
        <SearchField
          label={`${words.person}: ${words.personHint}`}
          value={values.person}
          onText={(person) => set({ person })}
        />
      </div>
      <SearchField label={words.text} value={values.q} onText={(q) => set({ q })} />
      <SelectField
        bare
        label={words.area}
        value={values.area}
        options={Object.entries(words.areas)}
        onText={(area) => set({ area })}
      />
      {children}
      <div className={css.dates}>
        <span aria-hidden="true">{words.from}</span>
        <TextField bare type="date" label={words.from} value={dayAt(values.from)} onText={(from) => set({ from })} />
        <span aria-hidden="true">{words.to}</span>
        <TextField bare type="date" label={words.to} value={dayAt(values.to)} onText={(to) => set({ to })} />
      </div>
      {actions !== undefined && <div className={css.actions}>{actions}</div>}
    </search>
  );
}
