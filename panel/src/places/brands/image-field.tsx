import { useId, useState } from 'react';
import type { Input, Out } from '../../../../src/gen/api.ts';
import { call } from '../../api/call.ts';
import { asError } from '../../api/error.ts';
import { useWrite } from '../../api/writes.ts';
import { Button } from '../../parts/button.tsx';
import { faultOf, TextField } from '../../parts/field.tsx';
import { Problem } from '../../parts/problem.tsx';
import { usePaused } from '../../parts/use-paused.ts';
import { useWords } from '../../words/words.ts';
import css from './brands.module.css';

/** What the service takes (docs/reference/brands.md). */
const TYPES = 'image/png,image/jpeg,image/webp,image/svg+xml';
const MAX_BYTES = 512 * 1024;
/** Typing pauses this long before a picture is fetched. */
const PAUSE_MS = 400;

type Part = 'logo' | 'icon';
type Brand = Out<'PUT /api/admin/brands/{id}/logo'>;

interface ImageFieldProps {
  readonly id: string;
  readonly part: Part;
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly error: Error | null;
  readonly onText: (url: string) => void;
  /** Uploaded or removed: stored already. */
  readonly onStored: (brand: Brand) => void;
}

/** A picture of a brand: uploaded to the service, or at an address elsewhere. */
export function ImageField({ id, part, label, hint, value, error, onText, onStored }: ImageFieldProps) {
  const { brands: words, common } = useWords();
  const [fault, setFault] = useState<Error | null>(null);
  const file = useId();
  const writing = useWrite({ done: common.saved, refreshes: ['/api/admin/brands', '/api/brands'] });
  const store = (operation: `PUT ${string}` | `DELETE ${string}`, body?: File) =>
    writing.run(async () => {
      const input = { path: { id }, ...(body === undefined ? {} : { body }) };
      const known = operation as 'PUT /api/admin/brands/{id}/logo';
      onStored((await call(known, input as unknown as Input<typeof known>, { timeoutMs: 60_000 })).data);
    });
  const take = (chosen: File | undefined): void => {
    if (chosen === undefined) return;
    setFault(chosen.size > MAX_BYTES ? new Error(words.tooLarge) : null);
    if (chosen.size <= MAX_BYTES) void store(`PUT /api/admin/brands/{id}/${part}`, chosen);
  };
  return (
    <div className={css.image}>
      <TextField
        label={label}
        type="url"
        value={value}
        hint={hint}
        fault={faultOf(error, `${part}Url`)}
        onText={onText}
      />
      <div className={css.upload}>
        <label htmlFor={file}>{words.uploadOf(label)}</label>
        <input
          id={file}
          type="file"
          accept={TYPES}
          disabled={writing.busy}
          onChange={(event) => {
            take(event.target.files?.[0]);
            event.target.value = '';
          }}
        />
        {value !== '' && (
          <Button
            kind="quiet"
            busy={writing.busy}
            aria-label={`${common.remove}: ${label}`}
            onClick={() => void store(`DELETE /api/admin/brands/{id}/${part}`)}
          >
            {common.remove}
          </Button>
        )}
      </div>
      <Problem error={fault ?? (writing.error === null ? null : asError(writing.error))} />
      <Loads url={value} />
    </div>
  );
}

/** Says that the picture of an address does not load, which a mail would show as an empty frame. */
function Loads({ url }: { url: string }) {
  const { brands: words } = useWords();
  const paused = usePaused(url.trim(), PAUSE_MS);
  const [failed, setFailed] = useState<string | null>(null);
  if (!/^https?:\/\/./i.test(paused)) return null;
  return (
    <div aria-live="polite">
      <img
        key={paused}
        src={paused}
        alt=""
        hidden
        referrerPolicy="no-referrer"
        onError={() => setFailed(paused)}
        onLoad={() => setFailed(null)}
      />
      {failed === paused && <p className={css.warning}>{words.notLoading}</p>}
    </div>
  );
}
