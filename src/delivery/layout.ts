/**
 * The layout of mails: the sender's colors, logo and footer around the rendered fragment. Tables and inline styles, which all mail
 * programs support; the logo is the only external resource.
 */

import { directionOf } from '../base/language-tags.ts';
import { BACKGROUND, CARD, color, INK, inkOn, PRIMARY, readableOn } from './colors.ts';
import type { MailMessage, MailSender } from './message.ts';

type Frame = Pick<MailSender, 'name' | 'look'>;
type Content = Pick<MailMessage, 'subject' | 'html' | 'locale' | 'button' | 'unsubscribeUrl' | 'preheader'>;

const FONT = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/** The text of the unsubscribe link, by primary language. */
const UNSUBSCRIBE: ReadonlyMap<string, string> = new Map([
  ['cs', 'Už nechci dostávat e-maily tohoto druhu'],
  ['de', 'Keine E-Mails dieser Art mehr erhalten'],
  ['en', 'Stop receiving e-mails of this kind'],
  ['es', 'No recibir más correos de este tipo'],
  ['fr', 'Ne plus recevoir d’e-mails de ce type'],
  ['it', 'Non ricevere più e-mail di questo tipo'],
  ['nl', 'Geen e-mails van dit soort meer ontvangen'],
  ['pl', 'Nie chcę więcej otrzymywać takich e-maili'],
  ['pt', 'Não receber mais e-mails deste tipo'],
  ['sk', 'Už nechcem dostávať e-maily tohto druhu'],
]);

/** The HTML document of a mail. The content's `html` is inserted unescaped, everything else escaped. */
export function renderLayout(
  { name, look }: Frame,
  { subject, html, locale, button, unsubscribeUrl, preheader }: Content,
): string {
  const primary = color(look.primaryColor, PRIMARY);
  const background = color(look.backgroundColor, BACKGROUND);
  const logo =
    look.logoUrl === null
      ? `<span dir="auto" class="usher-name" style="font-size:18px;font-weight:600;color:${readableOn(background, primary, 3)}">${escapeHtml(name)}</span>`
      : `<img class="usher-logo" src="${escapeHtml(look.logoUrl)}" alt="${escapeHtml(name)}" height="40" style="display:block;height:40px;width:auto;max-width:240px;border:0">`;
  return `<!doctype html>
<html lang="${escapeHtml(locale)}" dir="${directionOf(locale)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="supported-color-schemes" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>
:root{color-scheme:light dark}
.usher-body a{color:${readableOn(CARD, primary, 4.5)}}
.usher-body a.usher-button{color:${inkOn(primary)}!important}
.usher-body p{margin:0 0 16px}
.usher-body h1,.usher-body h2,.usher-body h3{margin:24px 0 12px;line-height:1.3}
.usher-body h1{font-size:22px}
.usher-body h2{font-size:19px}
.usher-body h3{font-size:16px}
.usher-body hr{margin:24px 0;border:0;border-top:1px solid #c9cdd4}
.usher-body>:first-child{margin-top:0!important}
.usher-body p:last-child,.usher-body>:last-child{margin-bottom:0!important}
@media (max-width:480px){.usher-cell{padding:24px 20px!important}}
@media (prefers-color-scheme:dark){
.usher-page{background:#16181d!important}
.usher-name{color:#e6e8ec!important}
.usher-logo{padding:6px 10px!important;border-radius:6px!important;background:${background}!important}
.usher-card{background:#22252c!important}
.usher-body,.usher-body p,.usher-body h1,.usher-body h2{color:#e6e8ec!important}
.usher-body a{color:#9db2ff!important}
.usher-foot,.usher-foot a{color:#9aa0aa!important}
}
</style>
</head>
<body class="usher-page" style="margin:0;padding:0;background:${background}">
${renderPreheader(preheader)}<table role="presentation" class="usher-page" width="100%" cellpadding="0" cellspacing="0" style="background:${background}">
<tr><td align="center" style="padding:32px 12px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;font-family:${FONT}">
<tr><td style="padding:0 4px 20px">${logo}</td></tr>
<tr><td class="usher-card usher-cell" style="padding:32px 36px;background:${CARD};border-top:4px solid ${primary};border-radius:6px">
<div class="usher-body" style="font-size:16px;line-height:1.55;color:${INK};overflow-wrap:anywhere;word-break:break-word">
${html}
${button === undefined ? '' : renderButton(button, primary)}</div>
</td></tr>
${renderFooter(look.footerText, unsubscribeUrl ?? null, locale, background)}</table>
</td></tr>
</table>
</body>
</html>
`;
}

/** The plain-text alternative: the text, the button's link, the footer, the unsubscribe link. */
export function renderText(
  { look }: Frame,
  { text, button, locale, unsubscribeUrl }: Pick<MailMessage, 'text' | 'button' | 'locale' | 'unsubscribeUrl'>,
): string {
  const parts = [text.trim()];
  if (button !== undefined) parts.push(`${button.text}:\n${button.url}`);
  if (look.footerText !== null) parts.push(`--\n${look.footerText.trim()}`);
  if (unsubscribeUrl) parts.push(`${unsubscribeWords(locale)}:\n${unsubscribeUrl}`);
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** The preview text: mail programs list it beside the subject; the mail itself hides it. */
function renderPreheader(text: string | undefined): string {
  if (text === undefined) return '';
  return `<div style="display:none;max-height:0;max-width:0;overflow:hidden;opacity:0;mso-hide:all">${escapeHtml(text)}</div>\n`;
}

function renderButton({ text, url }: { text: string; url: string }, primary: string): string {
  return `<p dir="auto" style="margin:24px 0 8px"><a class="usher-button" href="${escapeHtml(url)}" style="display:inline-block;padding:12px 22px;background:${primary};border-radius:5px;color:${inkOn(primary)}!important;font-weight:600;text-decoration:none">${escapeHtml(text)}</a></p>\n`;
}

function renderFooter(footer: string | null, unsubscribe: string | null, locale: string, background: string): string {
  const ink = readableOn(background, inkOn(background) === '#ffffff' ? '#c3c7cf' : '#60646c', 4.5);
  const lines = [
    ...(footer === null ? [] : [footer.trim().split('\n').map(ownDirection).join('<br>')]),
    ...(unsubscribe === null
      ? []
      : [`<a dir="auto" href="${escapeHtml(unsubscribe)}" style="color:${ink}">${unsubscribeWords(locale)}</a>`]),
  ];
  if (lines.length === 0) return '';
  return `<tr><td class="usher-foot" style="padding:20px 4px 0;font-size:13px;line-height:1.5;color:${ink}">${lines.join('<br><br>')}</td></tr>\n`;
}

function unsubscribeWords(locale: string): string {
  return UNSUBSCRIBE.get(locale.split('-', 1)[0] ?? '') ?? UNSUBSCRIBE.get('en') ?? '';
}

/** The footer's language may have another direction than the mail: without its own `dir`, full stops would precede the text. */
function ownDirection(line: string): string {
  return `<span dir="auto">${escapeHtml(line.trim())}</span>`;
}

/** Escapes text and attributes in double quotes. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
