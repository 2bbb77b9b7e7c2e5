import { curlOf } from '../api/curl.ts';
import { useRequestLog } from '../api/request-log.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { useFormats, useWords } from '../words/words.ts';
import css from './inspect.module.css';

/** Every request of this tab, with its status, time, revision and id, and as a command to repeat it. */
export function Inspect({ onClose }: { onClose: () => void }) {
  const { shell } = useWords();
  const formats = useFormats();
  const records = useRequestLog();
  return (
    <Dialog title={shell.inspectTitle} drawer onClose={onClose}>
      <p className={css.soft}>{shell.inspectWhy}</p>
      <ul className={css.list}>
        {records.map((record) => (
          <li key={record.id} className={css.record}>
            <div className={css.line}>
              <code className={css.url}>
                <b>{record.method}</b> {record.url}
              </code>
              <span className={record.status === 0 || record.status >= 400 ? css.bad : css.good}>
                {record.status || '–'}
              </span>
              <span>
                {formats.number(record.milliseconds)} {shell.columns.ms}
              </span>
              <CopyButton text={curlOf(record, location.origin)} label={shell.copyCurl} />
            </div>
            <div className={css.soft}>
              {formats.time(new Date(record.startedAt).toISOString())}
              {record.revision !== null && ` · ${shell.columns.revision} ${record.revision}`}
              {record.requestId !== null && ` · ${shell.columns.id} ${record.requestId}`}
            </div>
            {record.body !== null && <pre className={css.body}>{record.body}</pre>}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
