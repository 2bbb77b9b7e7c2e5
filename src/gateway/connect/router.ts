/** The paths of the RPCs. Only POST: with GET, e-mail addresses would appear in URLs and logs. */

import type { Application, RequestHandler } from 'express';
import { lazy } from '../../base/lazy.ts';
import { PermissionService } from '../../gen/usher/permission/v1/permission_pb.ts';
import { answerOptions } from '../middleware/cors.ts';
import { refuseMethod } from '../middleware/errors.ts';
import type { ConnectOptions } from './connect.ts';

const ALLOW = 'POST, OPTIONS';

/** Mounts Connect and gRPC-Web at the path of each method; a request that matches none is passed on. */
export function mountRpcs(app: Application, options: ConnectOptions): void {
  const { site } = options;
  // Loaded with the first call: most deployments use only gRPC and REST.
  const load = lazy(async () => (await import('./connect.ts')).createConnect(options));
  const call: RequestHandler = async (req, res, next) => {
    const connect = await load();
    await connect(req, res, next);
  };
  for (const { name } of PermissionService.methods) {
    const place = app.route(`/${PermissionService.typeName}/${name}`);
    place
      .post(call)
      .options(answerOptions(site, ALLOW, false))
      .all(refuseMethod(site, ALLOW, false));
  }
}
