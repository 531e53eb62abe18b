import type { ComponentType } from 'preact';
import { RunEvidencePage } from './evidence/evidence-view.tsx';
import { VerifyPage } from './evidence/verify-view.tsx';
import { RunFilesView } from './files/files-view.tsx';
import { FoundLogPage, RunLogPage } from './files/log-view.tsx';
import { HistoryPage } from './history/history-view.tsx';
import { ComparisonView } from './comparisons/comparison-view.tsx';
import { ComparisonsView } from './comparisons/comparisons-view.tsx';
import { QueuePage } from './queue/queue-view.tsx';
import type { Place } from './router.ts';
import { RunView } from './runs/run-view.tsx';
import { RunsView } from './runs/runs-view.tsx';
import { ScriptRunPage } from './scripts/script-run-view.tsx';
import { ScriptView } from './scripts/script-view.tsx';
import { ScriptsView } from './scripts/scripts-view.tsx';
import { SettingsView } from './settings/settings-view.tsx';

export interface ViewProps {
  readonly place: Place;
  /** The parts of the path that the view names, such as a run id. */
  readonly parts: readonly string[];
}

interface View {
  readonly pattern: RegExp;
  readonly show: ComponentType<ViewProps>;
  readonly role: string;
}

/** Every view and its address. The first match counts. */
const VIEWS: readonly View[] = [
  { pattern: /^\/(?:runs)?$/, show: RunsView, role: 'viewer' },
  { pattern: /^\/runs\/([^/]+)(?:\/cases\/[^/]+)?$/, show: RunView, role: 'viewer' },
  { pattern: /^\/runs\/([^/]+)\/evidence$/, show: RunEvidencePage, role: 'viewer' },
  { pattern: /^\/runs\/([^/]+)\/files$/, show: RunFilesView, role: 'viewer' },
  { pattern: /^\/runs\/([^/]+)\/log$/, show: RunLogPage, role: 'admin' },
  { pattern: /^\/logs\/([^/]+)$/, show: FoundLogPage, role: 'admin' },
  { pattern: /^\/history(?:\/([^/]+)(?:\/([^/]+))?)?$/, show: HistoryPage, role: 'viewer' },
  { pattern: /^\/verify$/, show: VerifyPage, role: 'viewer' },
  { pattern: /^\/comparisons$/, show: ComparisonsView, role: 'viewer' },
  { pattern: /^\/comparisons\/([^/]+)(?:\/cases\/[^/]+)?$/, show: ComparisonView, role: 'viewer' },
  { pattern: /^\/queue$/, show: QueuePage, role: 'viewer' },
  { pattern: /^\/scripts$/, show: ScriptsView, role: 'user' },
  { pattern: /^\/scripts\/([^/]+)$/, show: ScriptView, role: 'user' },
  { pattern: /^\/script-runs\/([^/]+)$/, show: ScriptRunPage, role: 'user' },
  { pattern: /^\/settings$/, show: SettingsView, role: 'admin' },
];

/** The menu. A view is left out if the server does not have its route. */
export const MENU = [
  { label: 'Runs', href: '/runs', key: 'r', role: 'viewer', route: 'GET /v1/runs' },
  { label: 'Comparisons', href: '/comparisons', key: 'c', role: 'viewer', route: 'GET /v1/comparisons' },
  { label: 'Scripts', href: '/scripts', key: 's', role: 'user', route: 'GET /v1/scripts' },
  { label: 'History', href: '/history', key: 'h', role: 'viewer', route: 'GET /v1/history' },
  { label: 'Queue', href: '/queue', key: 'q', role: 'viewer', route: 'GET /v1/queue' },
  { label: 'Verify', href: '/verify', key: 'v', role: 'viewer', route: 'POST /v1/verify' },
  { label: 'Settings', href: '/settings', key: 't', role: 'admin', route: 'GET /v1/tokens' },
] as const;

/** The view at a path; undefined if there is none. */
export function viewAt(path: string): { readonly view: View; readonly parts: readonly string[] } | undefined {
  for (const view of VIEWS) {
    const match = view.pattern.exec(path);
    if (match)
      return {
        view,
        parts: match
          .slice(1)
          .filter(part => part !== undefined)
          .map(decoded),
      };
  }
  return undefined;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
