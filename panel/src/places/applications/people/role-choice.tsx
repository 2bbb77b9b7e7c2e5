import type { Item } from '../../../../../src/gen/api.ts';
import { Badge } from '../../../parts/badge.tsx';
import { UntilField } from '../../../parts/until-field.tsx';
import { useWords } from '../../../words/words.ts';
import { withKey } from './chosen.ts';
import css from './people.module.css';

export type Role = Item<'GET /api/applications/{appCode}/roles'>;

/** Ends by the codes of roles. */
export type Ends = ReadonlyMap<string, string | null>;

interface RoleChoiceProps {
  readonly roles: readonly Role[];
  readonly chosen: ReadonlySet<string>;
  readonly onChosen: (codes: ReadonlySet<string>) => void;
  /** Where only one role can be given at a time. */
  readonly one?: boolean;
  /** Roles to mark: somebody else has given them meanwhile. */
  readonly marked?: ReadonlySet<string>;
  /** When each role that is chosen ends; null, or absent: never. */
  readonly ends: Ends;
  readonly onEnd: (code: string, endsAt: string | null) => void;
  /** The time zone of the person, where there is one person and it is known. */
  readonly zone?: string | null | undefined;
}

/** Roles to tick, each with what it is for. */
export function RoleChoice({ roles, chosen, onChosen, one = false, marked, ends, onEnd, zone }: RoleChoiceProps) {
  const { people: words } = useWords().applications;
  if (roles.length === 0) return <p className={css.soft}>{words.noRoles}</p>;
  return (
    <fieldset className={css.roles}>
      <legend className="visually-hidden">{words.roles}</legend>
      {roles.map(({ code, description }) => (
        <div key={code}>
          <label>
            <input
              type={one ? 'radio' : 'checkbox'}
              checked={chosen.has(code)}
              onChange={(event) => onChosen(one ? new Set([code]) : withKey(chosen, code, event.target.checked))}
            />
            <span>
              {code}{' '}
              {description && (
                <small>
                  <bdi>{description}</bdi>
                </small>
              )}
            </span>
            {marked?.has(code) && <Badge tone="warn">{words.now}</Badge>}
          </label>
          {chosen.has(code) && (
            <div className={css.until}>
              <UntilField of={code} value={ends.get(code) ?? null} onValue={(at) => onEnd(code, at)} zone={zone} />
            </div>
          )}
        </div>
      ))}
    </fieldset>
  );
}
