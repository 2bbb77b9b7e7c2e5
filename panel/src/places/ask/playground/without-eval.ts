/** Loaded before the schemas: the policy of the panel allows no code made from text, which zod otherwise tries for speed. */

import { z } from 'zod';

z.config({ jitless: true });
