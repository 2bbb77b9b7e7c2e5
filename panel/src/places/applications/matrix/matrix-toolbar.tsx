import { saveCsv } from '../../../api/csv.ts';
import { Button } from '../../../parts/button.tsx';
import { SelectField, Switch, TextField } from '../../../parts/field.tsx';
import type { Filters } from '../../../parts/filters.ts';
import { SearchField } from '../../../parts/search-field.tsx';
import { Toolbar } from '../../../parts/toolbar.tsx';
import { useWords } from '../../../words/words.ts';
import { type Changes, drafted } from './draft.ts';
import css from './matrix.module.css';
import type { MatrixRow, MatrixTable, RoleRecord } from './table.ts';

export type MatrixFilters = Filters<'q' | 'roles' | 'compare' | 'changed' | 'role'>;

interface MatrixToolbarProps {
  readonly appCode: string;
  readonly table: MatrixTable;
  readonly changes: Changes;
  readonly shown: { readonly rows: readonly MatrixRow[]; readonly roles: readonly RoleRecord[] };
  readonly filters: MatrixFilters;
  /** Without what concerns columns. */
  readonly narrow: boolean;
  /** Null for a reader. */
  readonly onNewRole: (() => void) | null;
}

export function MatrixToolbar({ appCode, table, changes, shown, filters, narrow, onNewRole }: MatrixToolbarProps) {
  const { common, applications } = useWords();
  const words = applications.matrix;
  const { q, roles, compare, changed } = filters.values;
  const codes = table.roles.map(({ code }) => code);
  const save = (): void => {
    const rows = shown.rows.flatMap((row) => (row.kind === 'permission' ? [row.permission] : []));
    saveCsv(`${appCode}-roles.csv`, [
      [common.permission, ...shown.roles.map(({ code }) => code)],
      ...rows.map(({ id, code }) => [code, ...shown.roles.map((role) => drafted(table, changes, role.id, id))]),
    ]);
  };
  return (
    <Toolbar>
      <SearchField label={words.filterPermissions} value={q} onText={(text) => filters.set({ q: text })} />
      {!narrow && compare === '' && (
        <TextField
          bare
          type="search"
          label={words.filterRoles}
          placeholder={words.filterRoles}
          title={words.filterRolesHint}
          value={roles}
          onText={(text) => filters.set({ roles: text })}
        />
      )}
      {!narrow && compare === '' && codes.length > 1 && (
        <Button kind="quiet" onClick={() => filters.set({ compare: codes.slice(0, 2).join() })}>
          {words.compare}
        </Button>
      )}
      {!narrow && compare !== '' && <Comparison codes={codes} filters={filters} />}
      {(changes.size > 0 || changed !== '') && (
        <div className={css.switch}>
          <Switch
            label={words.onlyChanged}
            checked={changed !== ''}
            onChecked={(on) => filters.set({ changed: on ? '1' : '' })}
          />
        </div>
      )}
      <span className={css.end}>
        <Button kind="quiet" onClick={save}>
          {common.export}
        </Button>
        {onNewRole !== null && <Button onClick={onNewRole}>{words.newRole}</Button>}
      </span>
    </Toolbar>
  );
}

function Comparison({ codes, filters }: { codes: readonly string[]; filters: MatrixFilters }) {
  const { matrix: words } = useWords().applications;
  const [one = '', two = ''] = filters.values.compare.split(',');
  const options = codes.map((code) => [code, code] as const);
  return (
    <span className={css.comparison}>
      <SelectField
        bare
        label={words.compareOne}
        value={one}
        options={options}
        onText={(code) => filters.set({ compare: `${code},${two}` })}
      />
      <span aria-hidden>↔</span>
      <SelectField
        bare
        label={words.compareTwo}
        value={two}
        options={options}
        onText={(code) => filters.set({ compare: `${one},${code}` })}
      />
      <Button
        kind="quiet"
        aria-label={words.compareEnd}
        title={words.compareEnd}
        onClick={() => filters.set({ compare: '' })}
      >
        ×
      </Button>
    </span>
  );
}
