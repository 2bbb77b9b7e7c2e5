/** The page behind the link of a mail, in the look of the mail's brand and the language of its reader. */

import { BACKGROUND, CARD, color, INK, inkOn, PRIMARY, readableOn } from '../../delivery/colors.ts';
import type { Subscription } from '../../notifications/unsubscribe.ts';
import type { Page } from '../route/envelopes.ts';
import { type Html, html, raw } from './html.ts';
import { pagePolicy } from './policies.ts';
import { type State, wordsFor } from './unsubscribe-words.ts';

interface UnsubscribeView {
  readonly state: State;
  /** Null if the link does not name a subscription. */
  readonly subscription: Subscription | null;
  /** The `Accept-Language` of the request. */
  readonly languages: string | undefined;
  /** The page for all other settings; null for none. */
  readonly settingsUrl: string | null;
  /** Null: no button. */
  readonly form: Form | null;
}

export interface Form {
  readonly does: 'unsubscribe' | 'resubscribe';
  /** Relative to the page, so that it works under any path of a proxy; null: the page's own URL. */
  readonly action: string | null;
}

type Brand = Subscription['brand'];

const PLAIN: Omit<Brand, 'name'> = { primaryColor: null, backgroundColor: null, logoUrl: null, footerText: null };
const DARK_GROUND = '#16181d';
const DARK_CARD = '#22252c';

export function unsubscribePage({ state, subscription, languages, settingsUrl, form }: UnsubscribeView): Page {
  const { language, words } = wordsFor(subscription?.locale ?? null, languages);
  const brand = subscription?.brand ?? null;
  const style = styleOf(brand ?? PLAIN);
  const logo = brand?.logoUrl === null || brand === null ? null : URL.parse(brand.logoUrl);
  const settings =
    settingsUrl === null ? html`` : html`<div class="settings"><a href="${settingsUrl}">${words.settings}</a></div>`;
  const title = words.title[state];
  const page = html`<!doctype html>
<html lang="${language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">
<title>${title}</title><style>${raw(style)}</style></head><body>
${brand === null ? html`` : headerOf(brand, logo)}<main><h1>${title}</h1><p>${words.text(state, subscription?.typeName ?? '', subscription?.appName ?? '')}</p>${form === null ? html`` : formOf(form, words[form.does])}${settings}</main>
${footerOf(brand?.footerText ?? null)}</body></html>
`.text;
  const policy = pagePolicy({ style, forms: true, ...(logo === null ? {} : { images: logo.origin }) });
  return { page, policy };
}

function headerOf({ name }: Brand, logo: URL | null): Html {
  if (logo === null) return html`<header><bdi class="name">${name}</bdi></header>`;
  return html`<header><img src="${logo.href}" alt="${name}" height="40"></header>`;
}

function formOf({ does, action }: Form, label: string): Html {
  const button = does === 'unsubscribe' ? html`<button>` : html`<button class="quiet">`;
  const start = action === null ? html`<form method="post">` : html`<form method="post" action="${action}">`;
  return html`${start}${button}${label}</button></form>`;
}

function footerOf(text: string | null): Html {
  if (text === null) return html``;
  const lines = text.trim().split('\n');
  return html`<footer>${lines.map((line) => html`<div dir="auto">${line.trim()}</div>`)}</footer>`;
}

/** The brand's colors, each replaced if its contrast is too low: text 4.5 to 1, the edges of buttons and large names 3 to 1. */
function styleOf({ primaryColor, backgroundColor }: Omit<Brand, 'name'>): string {
  const primary = color(primaryColor, PRIMARY);
  const ground = color(backgroundColor, BACKGROUND);
  const soft = readableOn(ground, inkOn(ground) === '#ffffff' ? '#c3c7cf' : '#60646c', 4.5);
  return `
:root{color-scheme:light dark;--ground:${ground};--card:${CARD};--ink:${INK};--soft:${soft};--name:${readableOn(ground, primary, 4.5)};--link:${readableOn(CARD, primary, 4.5)};--edge:${readableOn(CARD, primary, 3)}}
@media(prefers-color-scheme:dark){:root{--ground:${DARK_GROUND};--card:${DARK_CARD};--ink:#e6e8ec;--soft:#a8aeb8;--name:#e6e8ec;--link:${readableOn(DARK_CARD, primary, 4.5)};--edge:${readableOn(DARK_CARD, primary, 3)}}img{padding:6px 10px;border-radius:6px;background:${ground}}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1rem;max-width:36rem;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
header{padding:0 .25rem 1.25rem}
.name{font-size:1.15rem;font-weight:600;color:var(--name)}
img{display:block;height:40px;width:auto;max-width:100%;object-fit:contain;object-position:left;font-weight:600;color:var(--name)}
main{background:var(--card);border-top:4px solid ${primary};border-radius:6px;padding:2rem 1.75rem}
h1{font-size:1.4rem;line-height:1.3;margin:0 0 .75rem}
p{margin:0}
form{margin-top:1.5rem}
button{font:inherit;font-weight:600;min-height:2.75rem;padding:.55rem 1.3rem;border:2px solid var(--edge);border-radius:6px;background:${primary};color:${inkOn(primary)};cursor:pointer}
button.quiet{background:transparent;color:var(--link);border-color:var(--link)}
a{color:var(--link)}
.settings{margin-top:1.5rem}
button:focus-visible,a:focus-visible{outline:3px solid var(--ink);outline-offset:3px}
footer{padding:1.25rem .25rem 0;font-size:.85rem;color:var(--soft)}
`;
}
