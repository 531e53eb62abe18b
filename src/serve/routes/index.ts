import type { Route } from '../http/route.ts';
import { auditRoute } from './audit.ts';
import { DATA_ROUTES } from './data.ts';
import { runEventsRoute } from './events.ts';
import { healthzRoute, metricsRoute, readyzRoute } from './health.ts';
import { INTENT_ROUTES } from './intents.ts';
import { openApiRoute } from './openapi.ts';
import { cancelRunRoute, resumeRunRoute, startSuiteRoute } from './orders.ts';
import { packRoute } from './pack.ts';
import { showQueueRoute } from './queue.ts';
import { listRunsRoute, showRunRoute } from './runs.ts';
import { SCRIPT_RUN_ROUTES } from './script-runs.ts';
import { SCRIPT_ROUTES } from './scripts.ts';
import {
  beginLoginRoute,
  finishLoginRoute,
  sessionRoute,
  signInRoute,
  signInWaysRoute,
  signOutRoute,
} from './session.ts';
import { listTokensRoute, newTokenRoute, revokeTokenRoute } from './tokens.ts';
import { WORKER_ROUTES } from './workers.ts';

/** Everything that the server answers. A new route needs a line here. */
export const ROUTES: readonly Route[] = [
  healthzRoute,
  readyzRoute,
  openApiRoute(() => ROUTES),
  metricsRoute,
  sessionRoute,
  signInRoute,
  signOutRoute,
  signInWaysRoute,
  beginLoginRoute,
  finishLoginRoute,
  listTokensRoute,
  newTokenRoute,
  revokeTokenRoute,
  auditRoute,
  listRunsRoute,
  showRunRoute,
  startSuiteRoute,
  cancelRunRoute,
  resumeRunRoute,
  ...INTENT_ROUTES,
  packRoute,
  ...DATA_ROUTES,
  runEventsRoute,
  ...SCRIPT_ROUTES,
  ...SCRIPT_RUN_ROUTES,
  showQueueRoute,
  ...WORKER_ROUTES,
];
