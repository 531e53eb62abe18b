import { useEffect, useState } from 'preact/hooks';
import type { RunListPage } from '../../src/serve/runs/run-list.ts';
import { Text } from '../shared/visible.tsx';
import { ask } from './api.ts';

/** All runs, newest first. */
export function RunsView() {
  const [page, setPage] = useState<RunListPage>();
  useEffect(() => {
    ask<RunListPage>('/v1/runs').then(setPage, () => setPage({ runs: [], total: 0, next: null }));
  }, []);
  return (
    <main>
      <h1>Runs</h1>
      <ul>
        {page?.runs.map(run => (
          <li key={run.run_id}>
            <Text value={`${run.run_id} ${run.status}`} />
          </li>
        ))}
      </ul>
    </main>
  );
}
