import { useEffect, useMemo, useRef, useState } from 'react';
import { webAddress } from './mail-link.ts';
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
  /** Links of the mail open in new tabs. Without it they lead nowhere. */
  readonly links?: boolean;
}

/** A mail cannot make the page longer than this. */
const MAX_HEIGHT = 4_000;
const FIRST_HEIGHT = 320;

/** A mail in a frame of its own: its styles apply, its scripts do not run, and it cannot leave the frame (panel/preview.html). */
export function MailPreview({ html, width, dark, label, links = false }: MailPreviewProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(FIRST_HEIGHT);
  const shown = useMemo(() => inScheme(html, dark), [html, dark]);
  const latest = useRef(shown);
  latest.current = shown;
  useEffect(() => {
    const listen = (event: MessageEvent<{ ready?: boolean; height?: number; link?: string } | null>): void => {
      if (frame.current === null || event.source !== frame.current.contentWindow) return;
      if (event.data?.ready === true) post(frame.current, latest.current);
      const { height: told, link } = event.data ?? {};
      if (typeof told === 'number' && Number.isFinite(told)) setHeight(Math.max(40, Math.min(told, MAX_HEIGHT)));
      if (links && typeof link === 'string') openLink(link);
    };
    addEventListener('message', listen);
    return () => removeEventListener('message', listen);
  }, [links]);
  useEffect(() => {
    if (frame.current !== null) post(frame.current, shown);
  }, [shown]);
  return (
    <iframe
      ref={frame}
      className={`${css.frame} ${dark ? css.dark : ''} ${links ? '' : css.inert}`}
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

/** In a tab that cannot reach back. The browser lets this happen only shortly after a press. */
function openLink(link: string): void {
  const address = webAddress(link);
  if (address !== null) window.open(address, '_blank', 'noopener,noreferrer');
}
