import { type ReactNode, type RefObject, useEffect, useRef } from 'react';
import { Link, useLocation } from 'wouter';
import { useWords } from '../words/words.ts';
import { Badge } from './badge.tsx';
import css from './page.module.css';
import { samePath } from './path.ts';

interface PageProps {
  readonly title: string;
  /** One line below the title. */
  readonly lead?: ReactNode;
  /** The way here: links of the pages above. */
  readonly trail?: readonly (readonly [href: string, label: string])[];
  /** At the right of the title; absent for a reader. */
  readonly actions?: ReactNode;
  /** Whether to say that this may only be read. */
  readonly readOnly?: boolean;
  readonly children: ReactNode;
}

/** The frame of a place: its title is the title of the window and, after going there, has the focus. */
export function Page({ title, lead, trail = [], actions, readOnly = false, children }: PageProps) {
  const { common } = useWords();
  const heading = useRef<HTMLHeadingElement>(null);
  const [path] = useLocation();
  useEffect(() => {
    document.title = `${title} · Usher`;
  }, [title]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: going to another path is what moves the focus
  useEffect(() => {
    if (document.activeElement === document.body || document.activeElement === null) heading.current?.focus();
  }, [path]);
  return (
    <div className={css.page}>
      <header className={css.header}>
        <div className={css.titles}>
          {trail.length > 0 && (
            <nav aria-label={trail.map(([, label]) => label).join(' / ')} className={css.trail}>
              {trail.map(([href, label]) => (
                <Link key={href} href={href}>
                  {label}
                </Link>
              ))}
            </nav>
          )}
          <h1 ref={heading} tabIndex={-1}>
            {title} {readOnly && <Badge title={common.viewOnlyWhy}>{common.viewOnly}</Badge>}
          </h1>
          {lead && <div className={css.lead}>{lead}</div>}
        </div>
        {actions && <div className={css.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

/** For a bar of tabs that scrolls in a narrow window: keeps the tab that is open in sight. `current` is its path. */
export function useTabInSight(current: string | undefined): RefObject<HTMLElement | null> {
  const bar = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another view is what moves it
  useEffect(() => {
    const tab = bar.current?.querySelector<HTMLElement>('[aria-current]');
    if (bar.current === null || tab == null) return;
    const behind = tab.offsetLeft + tab.offsetWidth - bar.current.clientWidth;
    bar.current.scrollLeft = Math.min(Math.max(bar.current.scrollLeft, behind), tab.offsetLeft);
  }, [current]);
  return bar;
}

/** Views of one thing, as links: each has an address of its own. */
export function Tabs({ label, tabs }: { label: string; tabs: readonly (readonly [href: string, label: ReactNode])[] }) {
  const [shown] = useLocation();
  const path = samePath(shown);
  // The longest that the address begins with.
  const current = tabs
    .map(([href]) => href)
    .filter((href) => path === samePath(href) || path.startsWith(`${samePath(href)}/`))
    .sort((a, b) => b.length - a.length)[0];
  const bar = useTabInSight(current);
  return (
    <nav ref={bar} aria-label={label} className={css.tabs}>
      {tabs.map(([href, text]) => (
        <Link key={href} href={href} aria-current={href === current ? 'page' : undefined}>
          {text}
        </Link>
      ))}
    </nav>
  );
}

export function Card({ title, actions, children }: { title?: ReactNode; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className={css.card}>
      {(title || actions) && (
        <header className={css.cardHeader}>
          {title && <h2>{title}</h2>}
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

/** Names and what they are, one below the other. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={css.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** What to do where a list is empty. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.empty}>
      <p>{title}</p>
      {children}
    </div>
  );
}
