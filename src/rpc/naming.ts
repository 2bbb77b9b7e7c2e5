/** How protocols name the fields of a request (rpc/call.ts). */

import { PROTO_FIELDS, REST_FIELDS } from '../engine/question.ts';
import type { Naming } from './call.ts';

/** gRPC, Connect and gRPC-Web: as permission.proto spells them. */
export const PROTO: Naming = {
  fields: PROTO_FIELDS,
  item: (list, index) => `${list}[${index}]`,
  message: (field) => field,
  page: { size: 'page_size', cursor: 'page_token' },
};

/** REST: as JSON bodies spell them. */
export const REST: Naming = {
  fields: REST_FIELDS,
  item: (list, index) => `${list}.${index}`,
  message: () => '',
  page: { size: 'limit', cursor: 'cursor' },
};
