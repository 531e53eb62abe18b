import { closeSync, fstatSync } from 'node:fs';
import { openRegular } from '../../base/regular.ts';
import { expiry } from '../../contracts/expiry/index.ts';
import { seal } from '../../contracts/seal/index.ts';
import { entryBytes, looksPacked, packFile } from '../../evidence/pack/pack-file.ts';
import { FOLDER } from '../../evidence/pack/pack-layout.ts';
import { EXPIRED } from '../../evidence/run-folder/expired.ts';
import { SEAL } from '../../evidence/run-folder/finish.ts';
import { Fault } from '../../base/fault.ts';
import { checkerIfUsable } from '../keys.ts';
import type { VerdictView } from './evidence-view.ts';
import { evidenceTop, expiredFactsIn, type Seal, sealFactsIn } from './sealed-facts.ts';
import { verifiedView } from './verified-view.ts';

/** Verifies a file that a client sent: a pack, which is read in place and never extracted, or one document. */
export async function uploadVerdict({
  file,
  cwd,
}: {
  readonly file: string;
  readonly cwd: string;
}): Promise<VerdictView> {
  const { contents, ...about } = lookInto(file, cwd);
  const verified = await verifiedView(file, contents?.options ?? {});
  const signature = contents?.signature ?? null;
  return {
    ...about,
    top: evidenceTop(verified, about.what === 'pack' ? signature : null),
    verified,
    seal: contents?.facts ?? null,
    signature,
  };
}

interface Contents extends Pick<VerdictView, 'what' | 'bytes' | 'expired' | 'files' | 'files_total'> {
  readonly contents: Seal | undefined;
}

function lookInto(file: string, cwd: string): Contents {
  const fd = openRegular(file);
  if (fd === undefined) throw new Fault('upload_gone', 'The upload is no longer there.');
  const bytes = fstatSync(fd).size;
  if (!looksPacked(fd)) {
    closeSync(fd);
    return { what: 'document', bytes, contents: undefined, expired: null, files: [], files_total: 0 };
  }
  const pack = packFile(fd);
  try {
    const entries = [...pack.entries];
    return {
      what: 'pack',
      bytes,
      contents: sealFactsIn(entryBytes(pack, FOLDER + SEAL, seal.bytesMax), checkerIfUsable(cwd)),
      expired: expiredFactsIn(entryBytes(pack, FOLDER + EXPIRED, expiry.bytesMax)),
      files: entries.slice(0, FILES_MAX).map(([path, { size }]) => ({ path, bytes: size })),
      files_total: entries.length,
    };
  } finally {
    pack.close();
  }
}

const FILES_MAX = 100;
