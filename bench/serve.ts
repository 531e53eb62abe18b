/**
 * `npm run bench:serve`: what the server costs, compared with the least that bare Node needs for the same work in the
 * same run. Each part has its own file and returns its rows.
 */
import { printRows } from './rows.ts';
import { liveRows, playLive } from './serve-live.ts';

const [role, ...rest] = process.argv.slice(2);

if (role === undefined) {
  // The processes of the first part do not need the code of the others.
  const { listRows } = await import('./serve-list.ts');
  printRows('serve', [...(await liveRows(import.meta.filename)), ...(await listRows())]);
} else await playLive(role, rest);
