import type { ReactNode } from 'react';
import { useFormats, useWords } from '../words/words.ts';
import css from './badge.module.css';

type Tone = 'neutral' | 'good' | 'bad' | 'warn' | 'accent';

interface BadgeProps {
  readonly tone?: Tone;
  readonly title?: string;
  /** For a text of several words: it takes more than one line where there is no room. */
  readonly wraps?: boolean;
  readonly children: ReactNode;
}

export function Badge({ tone = 'neutral', title, wraps = false, children }: BadgeProps) {
  return (
    <span className={`${css.badge} ${css[tone]} ${wraps ? css.wraps : ''}`} title={title}>
      {children}
    </span>
  );
}

const TONES: Readonly<Record<string, Tone>> = { edit: 'accent', none: 'neutral', denied: 'bad' };

/** A level of a permission; null is no access, which an override may also say. */
export function Level({ level }: { level: string | null }) {
  const { levels } = useWords().common;
  const tone = TONES[level ?? 'none'] ?? 'good';
  return <Badge tone={tone}>{level === null ? levels.none : (levels[level as keyof typeof levels] ?? level)}</Badge>;
}

/** A time as "3 minutes ago", with the moment itself on a pointer's rest. */
export function Time({ iso, never }: { iso: string | null; never?: string }) {
  const formats = useFormats();
  const { common } = useWords();
  if (iso === null) return <span className={css.soft}>{never ?? common.never}</span>;
  return (
    <time dateTime={iso} title={formats.moment(iso)}>
      {formats.ago(iso)}
    </time>
  );
}
