import type { Item } from '../../../../../src/gen/api.ts';
import { useRead } from '../../../api/queries.ts';
import { ComboField } from '../../../parts/combo-field.tsx';
import { TextField } from '../../../parts/field.tsx';
import { useWords } from '../../../words/words.ts';

interface RecordFieldProps {
  readonly appCode: string;
  readonly entity: Item<'GET /api/applications/{appCode}/entities'> | undefined;
  readonly label: string;
  readonly value: string;
  readonly onText: (id: string) => void;
}

/** How many records are suggested. */
const SHOWN = 20;

/** The id of a record: picked from those that the application lists, or typed. */
export function RecordField({ appCode, entity, label, value, onText }: RecordFieldProps) {
  const { records: words } = useWords().applications;
  const listing = Boolean(entity?.listEndpoint);
  const path = { appCode, entityCode: entity?.code ?? '' };
  const found = useRead(
    'GET /api/applications/{appCode}/entities/{entityCode}/items',
    { path, query: { q: value.slice(0, 200) } },
    { enabled: listing, keep: true, staleTime: 60_000 },
  );
  if (!listing) return <TextField label={label} value={value} onText={onText} />;
  const choices = (found.data?.data.items ?? []).slice(0, SHOWN).map(({ id, label: note }) => ({ value: id, note }));
  // The same field whether the application answers or not: somebody may be typing into it.
  const hint = found.isError ? words.itemsFailed : null;
  return <ComboField label={label} value={value} choices={choices} hint={hint} onText={onText} />;
}
