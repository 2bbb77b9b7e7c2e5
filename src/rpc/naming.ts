/** How protocols name the fields of a request (rpc/methods.ts). */

import { PROTO_FIELDS, REST_FIELDS } from '../engine/question.ts';
import type { Naming } from './methods.ts';

/** gRPC, Connect and gRPC-Web: as permission.proto spells them. */
export const PROTO: Naming = { fields: PROTO_FIELDS, item: (list, index) => `${list}[${index}]` };

/** REST: as JSON bodies spell them. */
export const REST: Naming = { fields: REST_FIELDS, item: (list, index) => `${list}.${index}` };
