import { createReadStream, rmSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { packRun } from '../../verbs/pack.ts';
import { outputStates } from '../../verbs/publish/published-downloads.ts';
import { Content, route } from '../http/route.ts';
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
  refuses: { not_sealed: 409, not_valid: 409, interrupted: 409, file_withheld: 403 },
  act: async ({ params }, { server, signal, who }) => {
    const place = readableRunAt(params.run_id, server);
    // A pack contains every sealed file, so it would bypass the operator's scan.
    const held = outputStates(server.cwd, place.id);
    if (who.role !== 'admin' && held !== undefined && held.size > 0)
      throw new Fault(
        'file_withheld',
        "The operator's scan withholds a file of this run. Ask an administrator for the pack.",
      );
    const out = path.join(serverFolder(server.home, 'packs'), `${newCorrelationId()}.tar`);
    try {
      const { bytes, runId: id } = await packRun(place.folder, { cwd: server.cwd, out, signal });
      const file = createReadStream(out);
      await new Promise((resolve, reject) => {
        file.once('open', resolve);
        file.once('error', reject);
      });
      return new Content(Readable.toWeb(file) as ReadableStream<Uint8Array>, {
        'content-type': 'application/x-tar',
        'content-length': String(bytes),
        'content-disposition': `attachment; filename="${id}.proctor.tar"`,
      });
    } finally {
      // An open file can be read after its name is gone.
      rmSync(out, { force: true });
    }
  },
});
