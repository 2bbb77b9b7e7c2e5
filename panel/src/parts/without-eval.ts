/**
 * Loaded, and awaited, before any schema: zod would otherwise try whether it may compile code, which the policy refuses and
 * reports. A static import does not suffice, because the order of chunks is the bundler's.
 */

import { config } from 'zod';

config({ jitless: true });
