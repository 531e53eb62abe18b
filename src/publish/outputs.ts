import path from 'node:path';
import { readJson } from '../base/json.ts';
import { readRegular } from '../base/regular.ts';
import { openSeal, seal, type SealedFile } from '../contracts/seal/index.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { downloadName, uniqueNames } from './file-names.ts';
import type { ScriptRunRecord } from './script-runs.ts';
import type { OutputView } from './views.ts';

/** The output files of a sealed run, as its seal lists them. Empty if there is no readable seal. */
export function outputFiles(folder: string): SealedFile[] {
  const bytes = readRegular(path.join(folder, SEAL), seal.bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax: seal.bytesMax });
  const opened = reading?.ok ? openSeal(reading.value) : undefined;
  if (!opened?.ok) return [];
  return opened.statement.subject.flatMap(({ name, digest, annotations }) =>
    name.startsWith(OUTPUT) ? [{ path: name, sha256: `sha256:${digest.sha256}`, bytes: annotations.size_bytes }] : [],
  );
}

const OUTPUT = 'output/';

/** The files of a run as its user sees them. `isScanned` says that the operator has a scan command. */
export function outputViews(folder: string, record: ScriptRunRecord, isScanned: boolean): OutputView[] {
  const files = outputFiles(folder);
  const names = uniqueNames(files.map(file => downloadName(file.path)));
  const scanned = new Map(record.scanned?.files.map(one => [`${one.path} ${one.sha256}`, one]));
  return files.map(({ path: file, bytes, sha256 }, index) => {
    const { verdict, withheld_because: because = null } = scanned.get(`${file} ${sha256}`) ?? {};
    const state = stateOf(record, verdict, isScanned);
    return {
      path: file.slice(OUTPUT.length),
      name: names[index] as string,
      bytes,
      media_type: mediaTypeOf(file),
      state,
      withheld_because: state === 'withheld' ? because : null,
    };
  });
}

/** A file that was scanned stays withheld, even if the operator removes the scan command. */
function stateOf(
  { expired, scanned }: ScriptRunRecord,
  verdict: 'offered' | 'withheld' | undefined,
  isScanned: boolean,
): OutputView['state'] {
  if (expired.outputs !== undefined) return 'expired';
  if (verdict !== undefined) return verdict;
  return isScanned || scanned ? 'being_checked' : 'offered';
}

/** The media types that a browser cannot execute. Everything else is bytes. */
export function mediaTypeOf(name: string): string {
  const extension = /\.[a-z0-9]{1,10}$/i.exec(name)?.[0].toLowerCase() ?? '';
  return Object.hasOwn(MEDIA_TYPES, extension) ? (MEDIA_TYPES[extension] as string) : 'application/octet-stream';
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.json': 'application/json',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.zip': 'application/zip',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.docx': 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  '.pptx': 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
};
