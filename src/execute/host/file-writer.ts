/** The worker of `FileThread`. Writes files in the order received. */
import { parentPort, workerData } from 'node:worker_threads';
import { causeText } from '../../base/fault.ts';
import { replaceFile } from '../../base/replace.ts';
import type { WaitingFile } from './file-thread.ts';

const { folder } = workerData as { readonly folder: string };

parentPort?.on('message', (files: readonly WaitingFile[]) => {
  let failure: string | undefined;
  try {
    for (const { name, text, bytes } of files) replaceFile(`${folder}/${name}`, text, bytes);
  } catch (error) {
    failure = causeText(error);
  }
  parentPort?.postMessage({ written: files.reduce((sum, { bytes }) => sum + bytes, 0), failure });
});
