import { useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Template } from '../../../../../src/gen/api.ts';
import { call } from '../../../api/call.ts';
import { ApiError } from '../../../api/error.ts';
import { changedIn, type Edited, settled } from '../../../api/merge.ts';
import { useWrite } from '../../../api/writes.ts';
import { Button } from '../../../parts/button.tsx';
import { CodeField } from '../../../parts/code-field.tsx';
import { Confirm } from '../../../parts/confirm.tsx';
import { faultOf, TextArea, TextField } from '../../../parts/field.tsx';
import { Problem } from '../../../parts/problem.tsx';
import { useAction } from '../../../shell/actions.ts';
import { useKeptDraft } from '../../../shell/drafts.ts';
import { tell } from '../../../shell/toasts.ts';
import { useWords } from '../../../words/words.ts';
import { type Content, contentOf, type Draft, draftOf, placesOf } from './draft.ts';
import css from './messages.module.css';
import { Preview, usePreview } from './preview.tsx';
import { missingIn, objectIn, sampleOf, variablesIn } from './variants.ts';

interface TemplateEditorProps {
  readonly appCode: string;
  readonly place: { readonly type: string; readonly key: string; readonly locale: string };
  /** Null where it is not written yet. */
  readonly stored: Template | null;
  /** What is sent meanwhile. */
  readonly instead: Template | null;
  readonly mayEdit: boolean;
}

/** Writing on the left, what people get on the right. */
export function TemplateEditor({ appCode, place, stored, instead, mayEdit }: TemplateEditorProps) {
  const { applications, common } = useWords();
  const words = applications.messages;
  const [, go] = useLocation();
  const original = draftOf(stored ?? instead);
  const name = ['template', appCode, place.type, place.key, place.locale].join('\n');
  const [kept, keep] = useKeptDraft<Edited<Draft>>(name);
  const { base, draft } = kept ?? { base: original, draft: original };
  const [deleting, setDeleting] = useState(false);
  const variables = variablesIn([draft.subject, draft.html, draft.text, draft.pushTitle, draft.pushBody, draft.url]);
  const [typed, setTyped] = useState<string | null>(null);
  const payloadText = typed ?? JSON.stringify(sampleOf(variables), null, 2);
  const payload = objectIn(payloadText);
  const missing = payload === null ? [] : missingIn(payload, variables);
  const preview = usePreview(appCode, { ...contentOf(draft), locale: place.locale, payload: payload ?? {} });
  // Of the last save: what it changed, as it was.
  const inverse = useRef<Partial<Content>>({});
  const saving = useWrite(() => ({
    done: words.saved,
    refreshes: [`/api/applications/${appCode}`],
    ...(stored === null ? {} : { undo: () => change(stored.id, inverse.current) }),
  }));
  const testing = useWrite({ refreshes: [] });
  const home = `/applications/${encodeURIComponent(appCode)}/messages`;
  const path = { appCode };
  const change = (id: number, { requiredVariables: required, ...body }: Partial<Content>) =>
    call('PUT /api/applications/{appCode}/templates/{id}', {
      path: { ...path, id },
      body: { ...body, ...(required === undefined ? {} : { requiredVariables: [...required] }) },
    });
  const set = (part: Partial<Draft>): void => keep({ base, draft: { ...draft, ...part } });
  const same = JSON.stringify(contentOf(draft)) === JSON.stringify(contentOf(original));
  const dirty = !same || stored === null;
  // What was saved is a draft no more, once it is read back.
  useEffect(() => {
    if (kept !== null && same && stored !== null) keep(null);
  }, [kept, keep, same, stored]);
  const save = async (): Promise<void> => {
    const body = contentOf(draft);
    await saving.run(async () => {
      if (stored === null) {
        return await call('POST /api/applications/{appCode}/templates', { path, body: { ...body, ...place } });
      }
      let now = base;
      const read = async () => {
        const { data } = await call('GET /api/applications/{appCode}/templates', { path });
        const found = data.find(({ id }) => id === stored.id);
        now = found === undefined ? base : draftOf(found);
        return found === undefined ? null : now;
      };
      const changed = await settled({ base, draft, read, keep, labels: labelsOf(words) });
      const content = changedIn(contentOf(now), contentOf({ ...now, ...changed }));
      inverse.current = changedIn({ ...contentOf(now), ...content }, contentOf(now));
      return await change(stored.id, content);
    });
  };
  const test = async (): Promise<void> => {
    if (stored === null) return;
    await testing.run(async () => {
      const input = { path: { ...path, id: stored.id }, body: { payload: payload ?? {} } };
      const answer = await call('POST /api/applications/{appCode}/templates/{id}/test', input, { timeoutMs: 40_000 });
      tell(words.tested(answer.data.to));
    });
  };
  useAction(mayEdit && dirty ? common.save : null, () => void save());
  const error = saving.error ?? preview.error;
  const issues = error instanceof ApiError ? error.issues : [];
  const field = (part: keyof Draft) => ({
    value: draft[part],
    readOnly: !mayEdit,
    fault: faultOf(error, part),
    onText: (text: string) => set({ [part]: text }),
  });
  return (
    <div className={css.view}>
      <div className={css.head}>
        <div>
          <Link href={home}>{words.back}</Link>
          <h2>
            {place.type}: {words.editor(place.key, place.locale)}
          </h2>
          {stored === null && instead !== null && <p className={css.soft}>{words.fallsWhy(instead.locale)}</p>}
        </div>
        {mayEdit && (
          <span className={css.badges}>
            {stored !== null && (
              <>
                <Button kind="quiet" onClick={() => setDeleting(true)}>
                  {common.remove}
                </Button>
                <Button
                  busy={testing.busy}
                  disabled={dirty ? words.testSaved : payload === null && words.notJson}
                  onClick={() => void test()}
                >
                  {words.test}
                </Button>
              </>
            )}
            {!same && <Button onClick={() => keep(null)}>{common.discard}</Button>}
            <Button
              kind="primary"
              busy={saving.busy}
              disabled={!dirty && common.missing.change}
              onClick={() => void save()}
            >
              {common.save}
            </Button>
          </span>
        )}
      </div>
      <Problem error={saving.error ?? testing.error} />
      <div className={css.columns}>
        <div className={css.fields}>
          <TextField label={words.subject} {...field('subject')} />
          <div>
            <span className={css.label}>{words.html}</span>
            <CodeField
              label={words.html}
              language="liquid"
              readOnly={!mayEdit}
              value={draft.html}
              faults={placesOf(issues, 'html')}
              onText={(html) => set({ html })}
            />
            <p className={css.fault} role="status">
              {faultOf(error, 'html')}
            </p>
          </div>
          <TextArea label={words.text} hint={words.textHint} {...field('text')} />
          <TextField label={words.pushTitle} hint={words.pushTitleHint} {...field('pushTitle')} />
          <TextField label={words.pushBody} {...field('pushBody')} />
          <TextField label={words.url} {...field('url')} />
          <TextField
            label={words.requiredVariables}
            hint={words.requiredHint}
            value={draft.required}
            readOnly={!mayEdit}
            fault={faultOf(error, 'requiredVariables')}
            onText={(required) => set({ required })}
          />
        </div>
        <div className={css.side}>
          <Preview preview={preview} />
          <TextArea
            label={words.payload}
            hint={missing.length > 0 ? words.missing(missing.join(', ')) : words.payloadHint}
            fault={payload === null ? words.notJson : null}
            value={payloadText}
            rows={Math.min(12, payloadText.split('\n').length + 1)}
            onText={setTyped}
          />
        </div>
      </div>
      {deleting && stored !== null && (
        <DeleteTemplate
          appCode={appCode}
          template={stored}
          onClose={() => setDeleting(false)}
          onDone={() => {
            keep(null);
            go(home);
          }}
        />
      )}
    </div>
  );
}

function labelsOf(words: ReturnType<typeof useWords>['applications']['messages']) {
  const { subject, html, text, pushTitle, pushBody, url, requiredVariables: required } = words;
  return { subject, html, text, pushTitle, pushBody, url, required };
}

interface DeleteTemplateProps {
  readonly appCode: string;
  readonly template: Template;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function DeleteTemplate({ appCode, template, onClose, onDone }: DeleteTemplateProps) {
  const { applications } = useWords();
  const words = applications.messages;
  const path = { appCode };
  const { type, key, locale } = template;
  const body = { ...contentOf(draftOf(template)), type, key, locale };
  const writing = useWrite({
    done: words.deleted,
    refreshes: [`/api/applications/${appCode}`],
    undo: () => call('POST /api/applications/{appCode}/templates', { path, body }),
  });
  const remove = async (): Promise<void> => {
    const input = { path: { ...path, id: template.id } };
    if (await writing.run(() => call('DELETE /api/applications/{appCode}/templates/{id}', input))) onDone();
  };
  return (
    <Confirm title={words.deleteTemplate} writing={writing} onConfirm={remove} onClose={onClose}>
      {words.deleteTemplateWhy}
    </Confirm>
  );
}
