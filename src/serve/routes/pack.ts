import { createReadStream, rmSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { newCorrelationId } from '../../base/ids.ts';
import { packRun } from '../../verbs/pack.ts';
import { Content, route } from '../http/route.ts';
import { serverFolder } from '../state/server-folder.ts';
import { runAt, runParams } from './run-at.ts';

export const packRoute = route({
  name: 'pack',
  method: 'GET',
  path: '/v1/runs/{run_id}/pack',
  role: 'viewer',
  why: 'Gives a finished run as one file that anyone can verify, without internal files.',
  params: runParams,
  gives: { media: 'application/x-tar' },
  refuses: { not_sealed: 409, not_valid: 409, interrupted: 409 },
  act: async ({ params }, { server, signal }) => {
    const place = runAt(params.run_id, server);
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
