import { sql } from 'kysely';
import { held } from '../windows.ts';

/** Whether the person `p` has a role, an override or the administration of the application `a`, the aliases of the statement around it. */
export const IS_MEMBER = sql<boolean>`(
  exists (select from ${held('user_role')} r where r.person_id = p.id and r.application_id = a.id)
  or exists (select from ${held('app_admin')} m where m.person_id = p.id and m.application_id = a.id)
  or exists (select from ${held('resource_override')} o where o.person_id = p.id and o.application_id = a.id))`;
