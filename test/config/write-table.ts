/** `npm run generate`: the table of configuration keys in docs/operations/configuration.md, from src/config/keys.ts. */
import { readFileSync, writeFileSync } from 'node:fs';
import { withTable } from './table.ts';

const PAGE = new URL('../../docs/operations/configuration.md', import.meta.url);
writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8')));
