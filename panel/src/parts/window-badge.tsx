import { useFormats, useWords } from '../words/words.ts';
import { Badge } from './badge.tsx';
import { type GrantWindow, standingOf } from './until.ts';

/** When a grant begins, if that is to come, and when it ends; nothing for one without. The moment in UTC on a pointer's rest. */
export function WindowBadge(window: GrantWindow) {
  const said = useWindowText();
  const formats = useFormats();
  const standing = standingOf(window, Date.now());
  if (standing === null) return null;
  const bounds = [window.startsAt, window.endsAt].filter((at) => at !== null);
  return (
    <Badge
      wraps
      tone={standing === 'running' ? 'neutral' : 'warn'}
      title={bounds.map((at) => formats.zoned(at, 'UTC')).join(' – ')}
    >
      {said(window)}
    </Badge>
  );
}

/** The same as a text; empty for a grant without. */
export function useWindowText(): (window: GrantWindow) => string {
  const { window: words } = useWords().common;
  const formats = useFormats();
  return (window) => {
    const { startsAt, endsAt } = window;
    const standing = standingOf(window, Date.now());
    const until = endsAt === null ? [] : [words.until(formats.moment(endsAt))];
    if (standing !== 'ahead' || startsAt === null) return until.join();
    return [words.from(formats.moment(startsAt)), ...until, words.notBegun].join(', ');
  };
}
