import { type KeyboardEvent, type MouseEvent, type ReactElement, useRef, useState } from 'react';
import type { InboxProps } from './inbox-props.ts';
import type { InboxLabels } from './labels.ts';
import { safeUrl } from './links.ts';
import type { InboxItem } from './types.ts';
import type { UseInbox } from './use-inbox.ts';

export interface InboxListProps {
  readonly words: InboxLabels;
  readonly inbox: UseInbox;
  readonly onFollow: InboxProps['onFollow'];
}

/** The notifications: Tab goes to one of them and its controls, the arrow keys, Home and End to the others. */
export function InboxList({ words, inbox, onFollow }: InboxListProps): ReactElement {
  const { items, known, hasMore, loading, error } = inbox;
  const list = useRef<HTMLUListElement>(null);
  const [current, setCurrent] = useState(0);
  const last = items.length - 1;

  const focusItem = (at: number): void => {
    const target = list.current?.children.item(at);
    if (target instanceof HTMLElement) target.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = Math.min(current, last);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: last }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    focusItem(Math.max(0, Math.min(last, next)));
  };
  return (
    <div className="usher-inbox-body" aria-busy={loading}>
      {error !== null && (
        <p className="usher-inbox-note" role="alert">
          {words.failed}{' '}
          <button type="button" onClick={() => void inbox.refresh()}>
            {words.retry}
          </button>
        </p>
      )}
      {known && items.length === 0 && <p className="usher-inbox-note">{words.empty}</p>}
      {!known && error === null && <p className="usher-inbox-note">{words.loading}</p>}
      {items.length > 0 && (
        <ul className="usher-inbox-list" ref={list} onKeyDown={onKeyDown}>
          {items.map((item, at) => (
            <Item
              key={item.id}
              item={item}
              words={words}
              isCurrent={at === Math.min(current, last)}
              onFocus={() => setCurrent(at)}
              onRead={() => void inbox.markRead(item.id)}
              onFollow={onFollow}
            />
          ))}
        </ul>
      )}
      {hasMore && (
        <button
          type="button"
          className="usher-inbox-older"
          aria-disabled={loading}
          onClick={() => void inbox.loadMore()}
        >
          {words.older}
        </button>
      )}
    </div>
  );
}

interface ItemProps {
  readonly item: InboxItem;
  readonly words: InboxLabels;
  /** The one to which Tab goes. */
  readonly isCurrent: boolean;
  readonly onFocus: () => void;
  readonly onRead: () => void;
  readonly onFollow: InboxProps['onFollow'];
}

function Item({ item, words, isCurrent, onFocus, onRead, onFollow }: ItemProps): ReactElement {
  const place = useRef<HTMLLIElement>(null);
  const isUnread = item.readAt === null;
  const url = safeUrl(item.url);
  const icon = safeUrl(item.icon);
  const read = (): void => {
    onRead();
    // The button that has the focus is about to go.
    place.current?.focus();
  };
  const follow = (event: MouseEvent): void => {
    onRead();
    onFollow?.(item, event);
  };
  return (
    <li ref={place} className="usher-inbox-item" data-unread={isUnread} tabIndex={isCurrent ? 0 : -1} onFocus={onFocus}>
      {icon !== null && <img src={icon} alt="" width="32" height="32" />}
      <div className="usher-inbox-text">
        <p className="usher-inbox-subject">
          {isUnread && <span className="usher-inbox-unseen">{words.unread}: </span>}
          {url === null ? (
            item.subject
          ) : (
            <a href={url} onClick={follow}>
              {item.subject}
            </a>
          )}
        </p>
        {item.body !== null && <p className="usher-inbox-message">{item.body}</p>}
        <p className="usher-inbox-from">
          {item.appName} · <time dateTime={item.createdAt}>{words.time(new Date(item.createdAt))}</time>
        </p>
      </div>
      {isUnread && (
        <button type="button" className="usher-inbox-read" aria-label={words.markRead(item)} onClick={read}>
          <span aria-hidden="true">✓</span>
        </button>
      )}
    </li>
  );
}
