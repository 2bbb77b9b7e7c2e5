import { Link } from 'wouter';
import { ButtonLink } from '../../../parts/button.tsx';
import { SelectField } from '../../../parts/field.tsx';
import { Growing } from '../../../parts/list.tsx';
import { useWords } from '../../../words/words.ts';
import { drafted, keyOf } from './draft.ts';
import { levelText } from './grid-row.tsx';
import css from './matrix.module.css';
import type { MatrixFilters } from './matrix-toolbar.tsx';
import { type CellLevel, levelsOf, type MatrixRow, type MatrixTable } from './table.ts';
import type { Drafting } from './use-draft.ts';

interface RoleSwitchesProps {
  readonly table: MatrixTable;
  readonly rows: readonly MatrixRow[];
  readonly drafting: Drafting;
  readonly filters: MatrixFilters;
  readonly base: string;
}

/** One role at a time, for narrow windows: a grid of one column in sight would be no use. */
export function RoleSwitches({ table, rows, drafting, filters, base }: RoleSwitchesProps) {
  const words = useWords();
  const { matrix } = words.applications;
  const { changes } = drafting.draft;
  const role = table.roles.find(({ code }) => code === filters.values.role) ?? table.roles[0];
  if (role === undefined) return null;
  return (
    <div className={css.narrow}>
      <div className={css.pick}>
        <SelectField
          label={words.common.role}
          value={role.code}
          options={table.roles.map(({ code }) => [code, code] as const)}
          onText={(code) => filters.set({ role: code })}
        />
        <ButtonLink href={`${base}/matrix/${encodeURIComponent(role.code)}`}>
          {words.common.people(role.holders)}
        </ButtonLink>
      </div>
      <ul className={css.switches}>
        <Growing
          items={rows}
          draw={(row) => {
            if (row.kind === 'group') {
              return (
                <li key={`group ${row.name}`} className={css.group}>
                  {row.name ?? matrix.otherPermissions}
                </li>
              );
            }
            const { id, code, type } = row.permission;
            const change = changes.get(keyOf(role.id, id));
            const level = drafted(table, changes, role.id, id);
            return (
              <li key={id} className={change === undefined ? '' : css.changed}>
                <Link href={`${base}/permissions/${encodeURIComponent(code)}`}>{code}</Link>
                {change !== undefined && <span className={css.soft}>{matrix.was(levelText(change.from, words))}</span>}
                <SelectField
                  bare
                  label={`${code}, ${role.code}`}
                  value={level ?? ''}
                  options={levelsOf(type).map((one) => [one ?? '', levelText(one, words)] as const)}
                  onText={(text) =>
                    drafting.set([
                      { roleId: role.id, permissionId: id, level: text === '' ? null : (text as CellLevel) },
                    ])
                  }
                />
              </li>
            );
          }}
        />
      </ul>
    </div>
  );
}
