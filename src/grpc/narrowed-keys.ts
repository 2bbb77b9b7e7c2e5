/** What a call is about, for callers whose keys are narrowed to applications (docs/reference/callers.md#internal-keys). */

import type { DescMethod } from '@bufbuild/protobuf';
import { PermissionService } from '../gen/usher/permission/v1/permission_pb.ts';
import { ABOUT } from '../rpc/methods.ts';
import { decodeStrictly } from '../rpc/strict.ts';

/** The applications of a request, of its bytes. Throws VALIDATION_FAILED for a malformed request. */
export type AboutBytes = (request: Buffer) => readonly string[];

/** Of each method of the service, by its name on the wire. Only callers with such keys pay for the second reading of their requests. */
export const ABOUT_BYTES: ReadonlyMap<string, AboutBytes> = new Map(
  PermissionService.methods.map((method: DescMethod) => {
    const about = ABOUT[method.localName as keyof typeof ABOUT];
    return [method.name, (request: Buffer) => about(decodeStrictly(method.input, request) as never)];
  }),
);
