import type { Route } from '../http/route.ts';
import { healthzRoute, metricsRoute, readyzRoute } from './health.ts';
import { runPageRoute } from './run-page.ts';
import { listRunsRoute, showRunRoute } from './runs.ts';
import { sessionRoute } from './session.ts';

/** Everything that the server answers. A new route needs a line here. */
export const ROUTES: readonly Route[] = [
  healthzRoute,
  readyzRoute,
  metricsRoute,
  sessionRoute,
  listRunsRoute,
  showRunRoute,
  runPageRoute,
];
