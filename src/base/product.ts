/** What package.json says of the product. */

import { readFileSync } from 'node:fs';

interface Product {
  readonly version: string;
  readonly engines: { readonly node: string };
}

export function product(): Product {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Product;
}
