import type { Subjects } from '../directory/subjects.ts';
import type { Identify } from '../grpc/ext-authz.ts';
import type { Tokens } from '../identity/tokens.ts';

/** Admits the owners of bearer tokens at the gRPC port as checks by token are admitted at the gateway: active or not. */
export function tokenOwner(tokens: Pick<Tokens, 'authenticate'>, subjects: Pick<Subjects, 'refuseOther'>): Identify {
  return async (authorization, requestId) => {
    const caller = await tokens.authenticate(authorization);
    await subjects.refuseOther(caller, requestId);
    return caller;
  };
}
