import { verdictViewShape } from '../../verbs/evidence/evidence-view.ts';
import { route } from '../http/route.ts';
import { receiveBody } from '../http/uploads.ts';

const UPLOAD_BYTES_MAX = 1024 ** 3;

export const verifyUploadRoute = route({
  name: 'verifyUpload',
  method: 'POST',
  path: '/v1/verify',
  role: 'viewer',
  why: 'Verifies a pack or a JSON document that you send, keeps nothing of it, and gives the verdict.',
  body: { upload: ['application/x-tar', 'application/json', 'application/octet-stream'], bytesMax: UPLOAD_BYTES_MAX },
  gives: verdictViewShape,
  refuses: { too_many_uploads: 429, upload_cut: 400 },
  act: async (_, { server, who, request, signal }) => {
    server.checkReady();
    const free = server.uploads.take(who.id);
    try {
      const body = await receiveBody(request, server.home, UPLOAD_BYTES_MAX);
      try {
        return await server.threads.read('upload', { file: body.file, cwd: server.cwd }, { signal });
      } finally {
        body.drop();
      }
    } finally {
      free();
    }
  },
});
