import type { Out } from '../../../../src/gen/api.ts';

/** What every view of an application is given. */
export interface ViewProps {
  readonly appCode: string;
  readonly application: Out<'GET /api/applications/{appCode}'>;
  /** Whether the signed-in person may change the application; controls are absent otherwise. */
  readonly mayEdit: boolean;
}
