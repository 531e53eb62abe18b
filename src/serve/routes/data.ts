import type { Route } from '../http/route.ts';
import { COMPARISON_ROUTES } from './comparisons.ts';
import { runEvidenceRoute } from './evidence.ts';
import { FILE_ROUTES } from './files.ts';
import { HISTORY_ROUTES } from './history.ts';
import { verifyUploadRoute } from './verify.ts';
import { runPageRoute } from './run-page.ts';
import { RUN_REPORT_ROUTES } from './run-report.ts';

/** The routes that read what runs left. */
export const DATA_ROUTES: readonly Route[] = [
  runPageRoute,
  runEvidenceRoute,
  verifyUploadRoute,
  ...FILE_ROUTES,
  ...HISTORY_ROUTES,
  ...RUN_REPORT_ROUTES,
  ...COMPARISON_ROUTES,
];
