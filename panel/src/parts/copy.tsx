import { useState } from 'react';
import { useWords } from '../words/words.ts';
import { Button } from './button.tsx';

/** Copies a text. Where the browser forbids it, the text is selected for the person's own hand. */
export function CopyButton({ text, label }: { text: string | (() => string | Promise<string>); label?: string }) {
  const { common } = useWords();
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    const value = typeof text === 'function' ? await text() : text;
    try {
      await navigator.clipboard.writeText(value);
    } catch {
      window.prompt(label ?? common.copy, value);
      return;
    }
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <Button kind="quiet" onClick={() => void copy()}>
      <span aria-live="polite">{copied ? common.copied : (label ?? common.copy)}</span>
    </Button>
  );
}
