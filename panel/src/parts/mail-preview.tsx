import { useEffect, useMemo, useRef, useState } from 'react';
import css from './mail-preview.module.css';
import { inScheme } from './mail-scheme.ts';

interface MailPreviewProps {
  /** A whole document, such as the service renders it. It is not trusted. */
  readonly html: string;
  /** Of the window that the mail is read in, in pixels; less where there is no room. */
  readonly width: number;
  /** Whether the mail program is dark. */
  readonly dark: boolean;
  /** What a screen reader calls the frame. */
  readonly label: string;
}

/** A mail cannot make the page longer than this. */
const MAX_HEIGHT = 4_000;
const FIRST_HEIGHT = 320;

/** A mail in a frame of its own: its styles apply, its scripts do not run, and its links lead nowhere (panel/preview.html). */
export function MailPreview({ html, width, dark, label }: MailPreviewProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(FIRST_HEIGHT);
  const shown = useMemo(() => inScheme(html, dark), [html, dark]);
  const latest = useRef(shown);
  latest.current = shown;
  useEffect(() => {
    const listen = (event: MessageEvent<{ ready?: boolean; height?: number } | null>): void => {
      if (frame.current === null || event.source !== frame.current.contentWindow) return;
      if (event.data?.ready === true) post(frame.current, latest.current);
      const { height: told } = event.data ?? {};
      if (typeof told === 'number' && Number.isFinite(told)) setHeight(Math.max(40, Math.min(told, MAX_HEIGHT)));
    };
    addEventListener('message', listen);
    return () => removeEventListener('message', listen);
  }, []);
  useEffect(() => {
    if (frame.current !== null) post(frame.current, shown);
  }, [shown]);
  return (
    <iframe
      ref={frame}
      className={`${css.frame} ${dark ? css.dark : ''}`}
      title={label}
      src="/panel/preview.html"
      sandbox="allow-scripts"
      style={{ width: `${width}px`, height: `${height}px` }}
    />
  );
}

/** The frame has no origin of its own to name. */
function post(frame: HTMLIFrameElement, html: string): void {
  frame.contentWindow?.postMessage({ html }, '*');
}
