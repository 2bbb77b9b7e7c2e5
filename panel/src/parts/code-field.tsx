import { type RefObject, useEffect, useImperativeHandle, useRef, useState } from 'react';
import type { Editor, Fault } from './code-editor.ts';
import css from './code-field.module.css';
import { Loading } from './problem.tsx';

interface CodeFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onText: (text: string) => void;
  readonly language?: 'yaml' | 'liquid' | 'plain';
  readonly readOnly?: boolean;
  readonly faults?: readonly Fault[];
  /** Marks what differs from this text. */
  readonly original?: string | null;
  readonly tall?: boolean;
  /** To go to a line from outside. */
  readonly editor?: RefObject<Pick<Editor, 'goTo'> | null>;
}

const NO_FAULTS: readonly Fault[] = [];

/** An editor of code, loaded when it is first shown. */
export function CodeField(props: CodeFieldProps) {
  const {
    label,
    value,
    language = 'plain',
    readOnly = false,
    faults = NO_FAULTS,
    original = null,
    tall = false,
  } = props;
  const host = useRef<HTMLDivElement>(null);
  const [mounted, setMounted] = useState<Editor | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    let current = true;
    let made: Editor | null = null;
    void import('./code-editor.ts').then(({ mountEditor }) => {
      if (!current || host.current === null) return;
      const { value: text } = latest.current;
      const onText = (typed: string) => latest.current.onText(typed);
      made = mountEditor(host.current, { label, text, language, readOnly, onText });
      setMounted(made);
    });
    return () => {
      current = false;
      made?.destroy();
      setMounted(null);
    };
  }, [label, language, readOnly]);
  useEffect(() => mounted?.setText(value), [mounted, value]);
  useEffect(() => mounted?.setFaults(faults), [mounted, faults]);
  useEffect(() => mounted?.setOriginal(original), [mounted, original]);
  useImperativeHandle(props.editor, () => ({ goTo: (line, column) => mounted?.goTo(line, column) }), [mounted]);
  return (
    <div className={`${css.frame} ${tall ? css.tall : ''}`}>
      {mounted === null && <Loading rows={4} />}
      <div ref={host} className={css.host} />
    </div>
  );
}
