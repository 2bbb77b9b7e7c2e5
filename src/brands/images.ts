/** Images of brands that are uploaded: told by their bytes, and SVG made harmless (docs/reference/brands.md#uploaded-images). */

import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { UsherError } from '../base/errors.ts';

/** Media types that are taken, with the end of their names. */
export const IMAGE_TYPES = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/svg+xml': 'svg',
} as const;
export type ImageType = keyof typeof IMAGE_TYPES;

export interface Image {
  /** The hash of the bytes, and the end for the type. */
  readonly name: string;
  readonly media: ImageType;
  readonly bytes: Buffer;
}

/** The image that a body is, as it is kept. UNSUPPORTED_MEDIA_TYPE for anything else than what its type says. */
export async function readImage(body: Buffer, media: string): Promise<Image> {
  const found = typeOf(body);
  if (found === null || found !== media) {
    const is = found === null ? 'no PNG, JPEG, WebP or SVG' : found;
    throw new UsherError('UNSUPPORTED_MEDIA_TYPE', `The body must be the image itself, as ${media}: it is ${is}.`);
  }
  const bytes = found === 'image/svg+xml' ? await harmlessSvg(body) : body;
  return { name: `${hash('sha256', bytes, 'hex').slice(0, 40)}.${IMAGE_TYPES[found]}`, media: found, bytes };
}

const PNG = Buffer.from('89504e470d0a1a0a', 'hex');
const JPEG = Buffer.from('ffd8ff', 'hex');

/** What may stand before the root: a declaration, comments, a document type. */
const PROLOG = /^\uFEFF?\s*(?:<\?xml[^>]*>\s*|<!--(?:(?!-->)[\s\S])*-->\s*|<!DOCTYPE[^>[]*(?:\[[^\]]*\]\s*)?>\s*)*/;

function typeOf(body: Buffer): ImageType | null {
  if (body.subarray(0, PNG.length).equals(PNG)) return 'image/png';
  if (body.subarray(0, JPEG.length).equals(JPEG)) return 'image/jpeg';
  if (body.toString('latin1', 0, 4) === 'RIFF' && body.toString('latin1', 8, 12) === 'WEBP') return 'image/webp';
  const isSvg = isUtf8(body) && /^<svg[\s>]/.test(body.toString('utf8').replace(PROLOG, ''));
  return isSvg ? 'image/svg+xml' : null;
}

/** What draws. Nothing that runs, loads, links, embeds HTML or animates. */
const ELEMENTS = (
  'svg g defs symbol use title desc path rect circle ellipse line polyline polygon text tspan textPath ' +
  'linearGradient radialGradient stop pattern clipPath mask marker style filter feBlend feColorMatrix feComponentTransfer ' +
  'feComposite feConvolveMatrix feDiffuseLighting feDisplacementMap feDistantLight feDropShadow feFlood feFuncA feFuncB feFuncG ' +
  'feFuncR feGaussianBlur feMerge feMergeNode feMorphology feOffset fePointLight feSpecularLighting feSpotLight feTile feTurbulence'
).split(' ');
/** References within the document alone. */
const LOCAL = /^\s*#[\w.:-]+\s*$/;
/** Of CSS and of attributes of presentation: what could load or run. `\\` hides either. */
const LOADS = /url\s*\(\s*(?!["']?\s*#)|@|\\|expression|javascript:|data:|image-set|&/i;
const HREF = new Set(['href', 'xlink:href']);

async function harmlessSvg(body: Buffer): Promise<Buffer> {
  const source = body.toString('utf8');
  const { default: sanitize } = await import('sanitize-html');
  const text = sanitize(source.replace(PROLOG, ''), {
    allowedTags: ELEMENTS,
    // Which of them stay is decided below, by name and value.
    allowedAttributes: false,
    allowedSchemesAppliedToAttributes: [],
    allowVulnerableTags: true,
    parseStyleAttributes: false,
    nonTextTags: ['script', 'foreignObject', 'iframe', 'textarea', 'noscript', 'metadata'],
    parser: { xmlMode: true, lowerCaseTags: false, lowerCaseAttributeNames: false, decodeEntities: true },
    transformTags: {
      '*': (tagName, attribs) => ({
        tagName,
        attribs: Object.fromEntries(Object.entries(attribs).filter(([name, value]) => isHarmless(name, value))),
      }),
    },
    // Its text is written as it is, so that nothing in it may end it or begin another element either.
    exclusiveFilter: ({ tag, text: inside }) => tag === 'style' && (LOADS.test(inside) || inside.includes('<')),
  }).trim();
  if (!text.startsWith('<svg'))
    throw new UsherError('UNSUPPORTED_MEDIA_TYPE', 'The SVG has no drawing left without its scripts.');
  return Buffer.from(text);
}

function isHarmless(name: string, value: string): boolean {
  if (HREF.has(name)) return LOCAL.test(value);
  if (name === 'xmlns') return value === 'http://www.w3.org/2000/svg';
  if (name === 'xmlns:xlink') return value === 'http://www.w3.org/1999/xlink';
  // Handlers, and names of other vocabularies.
  if (/^on/i.test(name) || !/^[A-Za-z][\w-]*$|^xml:space$/.test(name)) return false;
  return !LOADS.test(value);
}
