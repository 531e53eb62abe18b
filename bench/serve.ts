/**
 * `npm run bench:serve`: what the server costs, compared with the least that bare Node needs for the same work in the
 * same run. Each part has its own file and returns its rows.
 */
import { printRows, showRows } from './rows.ts';
import { liveRows, playLive, sizeOf } from './serve-live.ts';

const [role, ...rest] = process.argv.slice(2);
// The processes of the first part do not need the code of the others.
const scripts = async () => import('./serve-scripts.ts');

if (role === undefined) {
  const { listRows } = await import('./serve-list.ts');
  const { scriptRows } = await scripts();
  const program = import.meta.filename;
  printRows('serve', [...(await liveRows(program)), ...(await listRows()), ...(await scriptRows(program))]);
} else if (role === 'live') showRows(await liveRows(import.meta.filename, sizeOf(rest)));
else if (role === 'idle') showRows(await (await import('./serve-idle.ts')).idleRows(...rest.map(Number)));
else if (role === 'scripts') await (await scripts()).playScripts(rest[0] ?? '');
else await playLive(role, rest);
