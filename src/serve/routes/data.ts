import type { Route } from '../http/route.ts';
import { runPageRoute } from './run-page.ts';

/** The routes that read what runs left. */
export const DATA_ROUTES: readonly Route[] = [runPageRoute];
