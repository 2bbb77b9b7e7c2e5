/** Refusals of languages and brands that nobody registered, with the nearest ones that there are (docs/reference/errors.md#did-you-mean). */

import { UsherError } from './errors.ts';
import { nearest, orMeant } from './nearest.ts';

/** UNKNOWN_LANGUAGES. `path`: the field of a request that takes one language. */
export function unknownLanguages(languages: readonly string[], known: Iterable<string>, path?: string): UsherError {
  const [only = ''] = languages;
  const near = languages.length === 1 ? nearest(only, known) : null;
  const said =
    path === undefined
      ? `Not in the language registry: ${languages.join(', ')}`
      : `${path}: there is no language ${only}`;
  return new UsherError('UNKNOWN_LANGUAGES', said + orMeant(near), {
    details: {
      languages: [...languages],
      ...(path === undefined ? {} : { path }),
      ...(near === null ? {} : { known: near }),
    },
  });
}

/** UNKNOWN_REFERENCE of the field `brand`. */
export function unknownBrand(slug: string, known: Iterable<string>): UsherError {
  const near = nearest(slug, known);
  return new UsherError('UNKNOWN_REFERENCE', `brand: there is no brand ${slug}${orMeant(near)}`, {
    details: { path: 'brand', ...(near === null ? {} : { known: near }) },
  });
}
