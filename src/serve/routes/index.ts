import type { Route } from '../http/route.ts';
import { DATA_ROUTES } from './data.ts';
import { healthzRoute, metricsRoute, readyzRoute } from './health.ts';
import { openApiRoute } from './openapi.ts';
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
  ...DATA_ROUTES,
];
