/** Headers of the panel's answers: what its pages may load, and what they may do (docs/reference/service.md#panel). */

import { hashOf } from '../pages/policies.ts';

/** Features that the panel does not use. Writing to the clipboard is not among them: the panel copies links and commands. */
const DENIED_FEATURES = [
  'accelerometer',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'usb',
  'xr-spatial-tracking',
];

/** Headers of every file, beside the policy. */
export const PANEL_HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': DENIED_FEATURES.map((feature) => `${feature}=()`).join(', '),
} as const;

/**
 * The policy of the panel's pages: files of this origin only, no inline code, and no HTML from text without a Trusted Types
 * policy. Pictures are those of brands. `issuer` is where the panel signs in; null where the service signs its own tokens.
 */
export function panelPolicy({ issuer, production }: { issuer: string | null; production: boolean }): string {
  const provider = issuer === null ? '' : ` ${new URL(issuer).origin}`;
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data: https:${localPictures(production)}`,
    "font-src 'self'",
    `connect-src 'self'${provider}`,
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

/**
 * The policy of the page that shows a mail in the panel, in an origin of its own. The mail brings styles and pictures. The one
 * script is the page's own, which is read from the built page itself; nothing of a mail runs.
 */
export function previewPolicy(page: string, production: boolean): string {
  const scripts = inlineScripts(page).map(hashOf);
  return [
    'sandbox allow-scripts',
    "default-src 'none'",
    `script-src ${scripts.length === 1 ? scripts[0] : "'none'"}`,
    "style-src 'unsafe-inline'",
    `img-src https: data:${localPictures(production)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; ');
}

/** In development the pictures of a brand may be on this machine. */
function localPictures(production: boolean): string {
  return production ? '' : ' http://localhost:* http://127.0.0.1:*';
}

/** The texts of a page's inline scripts. The page is our own build's: a text that holds a tag of a script counts as another. */
function inlineScripts(page: string): string[] {
  return page
    .split('<script')
    .slice(1)
    .flatMap((part) => {
      const end = part.indexOf('>');
      const [script = ''] = part.slice(end + 1).split('</script', 1);
      return part.slice(0, end).includes('src=') ? [] : [script];
    });
}
