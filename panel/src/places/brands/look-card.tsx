import type { CSSProperties } from 'react';
import { useWords } from '../../words/words.ts';
import css from './brands.module.css';
import { colorsOf, type Look } from './contrast.ts';

/** A mail in the look of a brand, small: as the service lays it out, in a light or a dark mail program. */
export function LookCard({ look, name, dark }: { look: Look; name: string; dark: boolean }) {
  const { brands: words } = useWords();
  return (
    <figure className={css.mini} style={colorsOf(look, dark) as CSSProperties}>
      <figcaption className="visually-hidden">{dark ? words.dark : words.light}</figcaption>
      <div className={css.miniHead}>
        {look.logoUrl === null ? (
          <strong dir="auto">{name}</strong>
        ) : (
          <img
            src={look.logoUrl}
            alt={name}
            data-dark={dark ? '' : undefined}
            loading="lazy"
            referrerPolicy="no-referrer"
          />
        )}
      </div>
      <div className={css.miniCard}>
        <p>
          {words.sample} <span className={css.miniLink}>{words.sampleLink}</span>
        </p>
        <span className={css.miniButton}>{words.sampleButton}</span>
      </div>
    </figure>
  );
}
