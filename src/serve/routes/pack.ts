import { once } from 'node:events';
import { createReadStream, rmSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { outputStates } from '../../verbs/publish/published-downloads.ts';
import { Content, route } from '../http/route.ts';
import type { Server } from '../http/server.ts';
import type { RunPlace } from '../runs/run-index.ts';
import { serverFolder } from '../state/server-folder.ts';
import { readableRunAt, runParams } from './run-at.ts';

export const packRoute = route({
  name: 'pack',
  method: 'GET',
  path: '/v1/runs/{run_id}/pack',
  role: 'viewer',
  why: 'Gives a finished run as one file that anyone can verify, without internal files.',
  params: runParams,
  gives: { media: 'application/x-tar' },
  refuses: { not_sealed: 409, not_valid: 409, cancelled: 409, file_withheld: 403, too_many_packs: 429 },
  act: async ({ params }, { server, signal, who }) => {
    const place = readableRunAt(params.run_id, server);
    // A pack contains every sealed file, so it would bypass the operator's scan.
    const held = outputStates(server.cwd, place.id);
    if (who.role !== 'admin' && held !== undefined && held.size > 0)
      throw new Fault(
        'file_withheld',
        "The operator's scan withholds a file of this run. Ask an administrator for the pack.",
      );
    // A pack takes up disk until the client has it, so the slot lasts as long.
    const free = server.packs.take(who.id);
    try {
      const { file, bytes, runId: id } = await openedPack(place, server, signal);
      file.once('close', free);
      return new Content(Readable.toWeb(file) as ReadableStream<Uint8Array>, {
        'content-type': 'application/x-tar',
        'content-length': String(bytes),
        'content-disposition': `attachment; filename="${id}.proctor.tar"`,
      });
    } catch (error) {
      free();
      throw error;
    }
  },
});

/** Packs a run into a file that exists only as long as it is open. */
async function openedPack({ folder }: RunPlace, { cwd, home, threads }: Server, signal: AbortSignal) {
  const own = serverFolder(home, 'packs', newCorrelationId());
  try {
    const out = path.join(own, 'pack.tar');
    const { bytes, runId } = await threads.read('pack', { folder, cwd, out }, { signal });
    const file = createReadStream(out);
    await once(file, 'open');
    return { file, bytes, runId };
  } finally {
    // An open file can be read after its name is gone.
    rmSync(own, { recursive: true, force: true });
  }
}
