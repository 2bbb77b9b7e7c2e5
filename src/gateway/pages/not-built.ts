/** The answer where the files of the panel are missing (docs/reference/service.md#panel). */

import { BUILD_PANEL } from '../../base/command.ts';
import { UsherError } from '../../base/errors.ts';
import type { Page } from '../route/envelopes.ts';
import { html } from './html.ts';
import { plainPage } from './plain.ts';

/** 503, for programs as `error`. */
export function notBuilt(): Page & { readonly error: UsherError } {
  const body = html`<h1>The panel was not built</h1><p>Run this in the directory of the service, then reload the page:</p><p><code>${BUILD_PANEL}</code></p>`;
  return {
    ...plainPage('The panel was not built', body),
    error: new UsherError('PANEL_NOT_BUILT', `The panel was not built: \`${BUILD_PANEL}\``),
  };
}
