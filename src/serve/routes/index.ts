import type { Route } from '../http/route.ts';
import { healthzRoute, metricsRoute, readyzRoute } from './health.ts';
import { openApiRoute } from './openapi.ts';
import { cancelRunRoute, resumeRunRoute, startSuiteRoute } from './orders.ts';
import { listRunsRoute, showRunRoute } from './runs.ts';
import { sessionRoute } from './session.ts';

/** Everything that the server answers. A new route needs a line here. */
export const ROUTES: readonly Route[] = [
  healthzRoute,
  readyzRoute,
  openApiRoute(() => ROUTES),
  metricsRoute,
  sessionRoute,
  listRunsRoute,
  showRunRoute,
  startSuiteRoute,
  cancelRunRoute,
  resumeRunRoute,
];
