import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { Button } from '../parts/button.tsx';
import { Guarded } from '../parts/problem.tsx';
import { preloadView } from '../places/views.ts';
import type { PanelConfig } from '../session/config.ts';
import { session, useSession } from '../session/session.ts';
import { SignInAgain } from '../session/sign-in-again.tsx';
import { useFormats, useWords } from '../words/words.ts';
import { useUnsavedDrafts } from './drafts.ts';
import { Icon } from './icons.tsx';
import { useKey } from './keys.ts';
import { useLive, useLiveChanges } from './live.ts';
import { OnlyVisible } from './only-visible.tsx';
import { isWithin, PLACES, titleOf } from './places.ts';
import { useRights } from './rights.ts';
import css from './shell.module.css';
import { Toaster } from './toaster.tsx';
import { useUpgraded } from './upgraded.ts';

const Palette = lazy(async () => ({ default: (await import('./palette.tsx')).Palette }));
const Inspect = lazy(async () => ({ default: (await import('./inspect.tsx')).Inspect }));
const KeyList = lazy(async () => ({ default: (await import('./key-list.tsx')).KeyList }));

type Open = 'palette' | 'inspect' | 'keys' | null;

/** What is around every place: navigation, keys, messages, and the strip that says who one is in development. */
export function Layout({ config, children }: { config: PanelConfig; children: ReactNode }) {
  const words = useWords();
  const { shell } = words;
  const state = useSession();
  const [open, setOpen] = useState<Open>(null);
  const [path] = useLocation();
  useLiveChanges(useRights().any);
  useUnsavedDrafts();
  useKey('mod+k', () => setOpen('palette'));
  useKey('/', () => setOpen('palette'));
  useKey('~', () => setOpen('inspect'));
  useKey('?', () => setOpen('keys'));
  return (
    <div className={css.frame}>
      <a className={css.skip} href="#content">
        {shell.skip}
      </a>
      {state.kind === 'in' && config.signIn === 'development' && <DevelopmentStrip email={state.email} />}
      <Navigation config={config} onOpen={setOpen} />
      <main id="content" className={css.main} tabIndex={-1}>
        <div className={css.column}>
          <Notices />
          <Guarded key={path} words={words}>
            <OnlyVisible config={config}>{children}</OnlyVisible>
          </Guarded>
        </div>
      </main>
      <Toaster />
      <Suspense fallback={null}>
        {open === 'palette' && <Palette config={config} onClose={() => setOpen(null)} />}
        {open === 'inspect' && <Inspect onClose={() => setOpen(null)} />}
        {open === 'keys' && <KeyList config={config} onClose={() => setOpen(null)} />}
      </Suspense>
      {state.kind === 'in' && state.expired && <SignInAgain />}
    </div>
  );
}

function DevelopmentStrip({ email }: { email: string }) {
  const { session: words } = useWords();
  return (
    <aside className={css.strip} aria-label={words.development}>
      {words.as(email)}
      <button type="button" onClick={() => void session.signOut()}>
        {words.change}
      </button>
    </aside>
  );
}

function Navigation({ config, onOpen }: { config: PanelConfig; onOpen: (open: Open) => void }) {
  const words = useWords();
  const { shell } = words;
  const rights = useRights();
  const [path, navigate] = useLocation();
  const [menu, setMenu] = useState(false);
  const places = PLACES.filter((place) => place.visible(rights, config));
  // biome-ignore lint/correctness/useExhaustiveDependencies: going anywhere closes the menu of narrow windows
  useEffect(() => setMenu(false), [path]);
  useKey('Escape', () => setMenu(false), menu);
  return (
    <header className={css.side} data-open={menu}>
      {places.map((place) => (
        <PlaceKey key={place.id} keys={`g ${place.key}`} act={() => navigate(place.href)} />
      ))}
      <Link href="/" className={css.brand}>
        <img src="/panel/icon.svg" alt="" width="22" height="22" />
        Usher
      </Link>
      <button type="button" className={css.search} onClick={() => onOpen('palette')}>
        <span>{words.common.search}</span>
        <kbd>⌘K</kbd>
      </button>
      <span className={css.menu}>
        <Button aria-expanded={menu} onClick={() => setMenu(!menu)}>
          {shell.menu}
        </Button>
      </span>
      <nav aria-label={shell.navigation} className={css.nav}>
        <ul className={css.places}>
          {places.map((place) => (
            <li key={place.id} data-place={place.id}>
              <Link
                href={place.href}
                aria-current={isWithin(path, place.href) ? 'page' : undefined}
                onPointerEnter={() => preloadView(place.href)}
                onFocus={() => preloadView(place.href)}
              >
                <Icon name={place.id} />
                {titleOf(place, words)}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className={css.foot}>
        <LastChange />
        <button type="button" onClick={() => onOpen('inspect')}>
          {shell.inspect} <kbd>~</kbd>
        </button>
        <button type="button" onClick={() => onOpen('keys')}>
          {shell.keys} <kbd>?</kbd>
        </button>
        <a href="/api/docs">{shell.docs}</a>
        <button type="button" onClick={() => void session.signOut()}>
          {words.session.signOut}
        </button>
        <span>{rights.email}</span>
        <span>Usher {config.version}</span>
      </div>
    </header>
  );
}

function PlaceKey({ keys, act }: { keys: string; act: () => void }) {
  useKey(keys, act);
  return null;
}

function LastChange() {
  const { shell } = useWords();
  const formats = useFormats();
  const { last } = useLive();
  if (last?.actor == null) return null;
  return <span aria-live="polite">{shell.changedBy(last.actor.replace(/^user:/, ''), formats.ago(last.at))}</span>;
}

/** What concerns the whole panel: the service away, or a new version. */
function Notices() {
  const { shell, common } = useWords();
  const { connected } = useLive();
  const upgraded = useUpgraded();
  return (
    <>
      {upgraded && (
        <div className={css.notice} role="status">
          {shell.upgraded}
          <Button onClick={() => location.reload()}>{common.reload}</Button>
        </div>
      )}
      {!connected && (
        <div className={css.notice} role="status">
          {shell.offline}
        </div>
      )}
    </>
  );
}
