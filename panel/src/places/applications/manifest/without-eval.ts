/** Imported before any schema: zod would otherwise try whether it may compile code, which the policy refuses and reports. */

import { config } from 'zod';

config({ jitless: true });
