/** What is at `/`: where somebody who opened the service's address can go (docs/reference/service.md#documents). */

import type { Page } from '../route/envelopes.ts';
import { type Html, html } from './html.ts';
import { plainPage } from './plain.ts';

/** The places that exist here. */
export interface Places {
  readonly panel: boolean;
  readonly mailbox: boolean;
}

/** The paths of these places; null for one that does not exist here. */
export function homePaths({ panel, mailbox }: Places) {
  return {
    panel: panel ? '/panel/' : null,
    documentation: '/api/docs',
    openapi: '/api/openapi.json',
    mailbox: mailbox ? '/dev/mail' : null,
  };
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
