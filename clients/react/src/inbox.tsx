import { type FocusEvent, type KeyboardEvent, type ReactElement, useEffect, useId, useRef, useState } from 'react';
import { InboxList } from './inbox-list.tsx';
import type { InboxProps } from './inbox-props.ts';
import { ENGLISH, type InboxLabels } from './labels.ts';
import { useInbox } from './use-inbox.ts';

/** The most that the badge says. */
const MOST_SHOWN = 99;

/** A bell with the number of unread notifications, and a panel with the notifications. */
export function Inbox({ labels, className, onFollow }: InboxProps): ReactElement {
  const words = { ...ENGLISH, ...labels };
  const inbox = useInbox();
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const bell = useRef<HTMLButtonElement>(null);
  const panelId = useId();
  const unread = inbox.unread ?? 0;
  useClosingOutside(isOpen, root, () => setOpen(false));

  const close = (): void => {
    setOpen(false);
    bell.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || !isOpen) return;
    // Escape closes one thing: not the dialog around the bell as well.
    event.stopPropagation();
    close();
  };
  const onBlur = ({ relatedTarget }: FocusEvent): void => {
    if (relatedTarget !== null && root.current?.contains(relatedTarget) === false) setOpen(false);
  };
  const classes = className === undefined ? 'usher-inbox' : `usher-inbox ${className}`;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it hears the keys of what is in it, and is no control itself
    <div className={classes} ref={root} onKeyDown={onKeyDown} onBlur={onBlur}>
      <button
        type="button"
        className="usher-inbox-bell"
        ref={bell}
        aria-expanded={isOpen}
        aria-haspopup="dialog"
        aria-controls={isOpen ? panelId : undefined}
        aria-label={words.bell(unread)}
        onClick={() => setOpen(!isOpen)}
      >
        <BellIcon />
        {unread > 0 && (
          <span className="usher-inbox-count" aria-hidden="true">
            {unread > MOST_SHOWN ? `${MOST_SHOWN}+` : unread}
          </span>
        )}
      </button>
      <span role="status" className="usher-inbox-unseen">
        {/* By its key the same words are said once more. */}
        {inbox.arrived !== null && <span key={inbox.arrived.id}>{words.arrived(inbox.arrived)}</span>}
      </span>
      {isOpen && <Panel id={panelId} words={words} inbox={inbox} onClose={close} onFollow={onFollow} />}
    </div>
  );
}

interface PanelProps {
  readonly id: string;
  readonly words: InboxLabels;
  readonly inbox: ReturnType<typeof useInbox>;
  readonly onClose: () => void;
  readonly onFollow: InboxProps['onFollow'];
}

function Panel({ id, words, inbox, onClose, onFollow }: PanelProps): ReactElement {
  const panel = useRef<HTMLElement>(null);
  const titleId = useId();
  // Who opens it goes on reading in it.
  useEffect(() => panel.current?.focus(), []);
  const hasUnread = (inbox.unread ?? 0) > 0;
  const markAll = (): void => {
    if (hasUnread) void inbox.markAllRead();
  };
  return (
    <section className="usher-inbox-panel" id={id} ref={panel} role="dialog" aria-labelledby={titleId} tabIndex={-1}>
      <div className="usher-inbox-head">
        <h2 id={titleId}>{words.title}</h2>
        {/* Not `disabled`: the focus would be lost with the last unread one. */}
        <button type="button" aria-disabled={!hasUnread} onClick={markAll}>
          {words.markAllRead}
        </button>
        <button type="button" className="usher-inbox-close" aria-label={words.close} onClick={onClose}>
          <span aria-hidden="true">×</span>
        </button>
      </div>
      <InboxList words={words} inbox={inbox} onFollow={onFollow} />
    </section>
  );
}

function BellIcon(): ReactElement {
  return (
    <svg
      viewBox="0 0 24 24"
      width="24"
      height="24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      aria-hidden="true"
    >
      <path d="M6 17v-6a6 6 0 0 1 12 0v6l1.5 2h-15z" strokeLinejoin="round" />
      <path d="M10 21h4" strokeLinecap="round" />
    </svg>
  );
}

/** Closes on a press anywhere else. */
function useClosingOutside(isOpen: boolean, root: { readonly current: HTMLElement | null }, close: () => void): void {
  const latest = useRef(close);
  useEffect(() => {
    latest.current = close;
  });
  useEffect(() => {
    if (!isOpen) return undefined;
    const pressed = ({ target }: PointerEvent): void => {
      if (target instanceof Node && root.current?.contains(target) === false) latest.current();
    };
    document.addEventListener('pointerdown', pressed);
    return () => document.removeEventListener('pointerdown', pressed);
  }, [isOpen, root]);
}
