/** The page at `/`: where a person who opened the service's address can go. */

import type { Page } from '../route/envelopes.ts';
import { type Html, html } from './html.ts';
import { plainPage } from './plain.ts';

/** The places that exist here. */
export interface Places {
  readonly panel: boolean;
  readonly mailbox: boolean;
}

export function homePage({ panel, mailbox }: Places): Page {
  const link = (path: string, name: string, about: string): Html =>
    html`<li><a href="${path}"><span class="name">${name}</span> <span class="soft">${about}</span></a></li>`;
  const links = [
    ...(panel ? [link('/panel/', 'Panel', 'Who is allowed what, and why')] : []),
    link('/api/docs', 'API documentation', 'Every call, with examples'),
    ...(mailbox
      ? [link(panel ? '/panel/mailbox' : '/dev/mail', 'Development mailbox', 'Mail that no brand can send')]
      : []),
  ];
  return plainPage('Usher', html`<h1>Usher</h1><ul>${links}</ul>`);
}
