import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useId, useState } from 'react';
import { useLocation } from 'wouter';
import { call } from '../api/call.ts';
import { Dialog } from '../parts/dialog.tsx';
import type { PanelConfig } from '../session/config.ts';
import { useWords } from '../words/words.ts';
import { useActions } from './actions.ts';
import css from './palette.module.css';
import { PLACES, titleOf } from './places.ts';
import { useRights } from './rights.ts';

interface Entry {
  readonly group: string;
  readonly label: string;
  readonly note?: string | null;
  readonly act: () => void;
}

/** Search over everything that one may see, and every action of the page and the places: by keyboard alone. */
export function Palette({ config, onClose }: { config: PanelConfig; onClose: () => void }) {
  const { shell } = useWords();
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const list = useId();
  const entries = useEntries(config, typed.trim());
  const chosen = Math.min(at, entries.length - 1);
  const run = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    entry.act();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      setAt((chosen + by + entries.length) % Math.max(entries.length, 1));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      run(entries[chosen]);
    }
  };
  return (
    <Dialog title={shell.palette} fleeting onClose={onClose}>
      <input
        className={css.input}
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={entries.length > 0 ? `${list}-${chosen}` : undefined}
        aria-label={shell.palette}
        placeholder={shell.palettePlaceholder}
        maxLength={64}
        spellCheck={false}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={list} aria-label={shell.palette} className={css.list}>
        {entries.length === 0 && <p className={css.none}>{shell.paletteEmpty}</p>}
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys (aria-activedescendant)
          <div
            key={`${entry.group}\n${entry.label}\n${entry.note ?? ''}`}
            id={`${list}-${index}`}
            role="option"
            aria-selected={index === chosen}
            className={css.entry}
            ref={(element) => {
              if (index === chosen) element?.scrollIntoView({ block: 'nearest' });
            }}
            onMouseMove={() => setAt(index)}
            onClick={() => run(entry)}
          >
            <span className={css.label}>{entry.label}</span>
            {entry.note && <span className={css.note}>{entry.note}</span>}
            <span className={css.group}>{entry.group}</span>
          </div>
        ))}
      </div>
    </Dialog>
  );
}

function useEntries(config: PanelConfig, typed: string): readonly Entry[] {
  const { shell } = useWords();
  const words = useWords();
  const [, navigate] = useLocation();
  const rights = useRights();
  const actions = useActions();
  const searched = useQuery({
    queryKey: ['palette', typed],
    queryFn: ({ signal }) => find(typed, signal),
    enabled: typed !== '' && rights.any,
    staleTime: 10_000,
    placeholderData: (before) => before,
  });
  const places = PLACES.filter((place) => place.visible(rights, config)).map((place) => ({
    group: shell.go,
    label: shell.goTo(titleOf(place, words)),
    act: () => navigate(place.href),
  }));
  const offered = [...actions.map((action) => ({ group: shell.found.actions, ...action })), ...places];
  const found = typed === '' ? [] : (searched.data ?? []);
  return [
    ...offered.filter(({ label }) => label.toLowerCase().includes(typed.toLowerCase())),
    ...found.map(({ kind, label, note, href }) => ({
      group: shell.found[kind],
      label,
      note,
      act: () => navigate(href),
    })),
  ];
}

interface Found {
  readonly kind: 'people' | 'applications' | 'roles' | 'permissions';
  readonly label: string;
  readonly note: string | null;
  readonly href: string;
}

async function find(q: string, signal: AbortSignal): Promise<readonly Found[]> {
  const { data } = await call('GET /api/search', { query: { q } }, { signal });
  const within = (appCode: string, view: string, code: string) =>
    `/applications/${encodeURIComponent(appCode)}/${view}/${encodeURIComponent(code)}`;
  return [
    ...data.applications.map(({ code, name }) => {
      return {
        kind: 'applications' as const,
        label: name,
        note: code,
        href: `/applications/${encodeURIComponent(code)}`,
      };
    }),
    ...data.people.map(({ email, displayName }) => {
      return { kind: 'people' as const, label: email, note: displayName, href: `/people/${encodeURIComponent(email)}` };
    }),
    ...data.roles.map(({ appCode, code }) => {
      return { kind: 'roles' as const, label: code, note: appCode, href: within(appCode, 'matrix', code) };
    }),
    ...data.permissions.map(({ appCode, code }) => {
      return { kind: 'permissions' as const, label: code, note: appCode, href: within(appCode, 'permissions', code) };
    }),
  ];
}
