import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { archiveOf, downloadHeaders, outputStream } from '../../publish/downloads.ts';
import { outputFiles, outputViews } from '../../publish/outputs.ts';
import { isRecorded, noRun, readRecord } from '../../publish/script-runs.ts';
import { scriptSettingsIn } from '../settings.ts';

/** The bytes of a download, and the headers to send them with. */
export interface Download {
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: ReadableStream<Uint8Array>;
}

/** One output file of a run of a published script. Rejects if it is withheld, expired or not there. */
export async function downloadOutput(cwd: string, runId: string, file: string): Promise<Download> {
  const { folder, offered } = offeredOutputs(cwd, runId);
  const found = offered.find(({ view }) => view.path === file);
  if (!found) throw new Fault('no_output', 'There is no such file, or it is not offered for download.');
  const { view, sealed } = found;
  return {
    headers: downloadHeaders(view.name, view.media_type, view.bytes),
    stream: await outputStream(folder, sealed),
  };
}

/** All offered files of a run as one zip. Rejects if one is not as it was sealed. */
export async function downloadArchive(cwd: string, runId: string): Promise<Download> {
  const { folder, offered, name } = offeredOutputs(cwd, runId);
  if (offered.length === 0) throw new Fault('no_output', 'The run has no files to download.');
  const { bytes, stream } = await archiveOf(
    folder,
    offered.map(({ sealed }) => sealed),
  );
  return { headers: downloadHeaders(`${name}-${runId}.zip`, 'application/zip', bytes), stream };
}

/** The state of each output of a published script that is not offered; undefined for another run. */
export function outputStates(
  cwd: string,
  runId: string,
): ReadonlyMap<string, 'withheld' | 'being_checked'> | undefined {
  const home = homeFrom(cwd);
  const record = readRecord(home, runId);
  if (!record && !isRecorded(home, runId)) return undefined;
  const folder = path.join(home, 'runs', 'script', runId);
  // A record that another machine wrote, or that cannot be read now, may withhold every file.
  if (!record) return new Map(outputFiles(folder).map(({ path: file }) => [file, 'being_checked']));
  const views = outputViews(folder, record, scriptSettingsIn(home).scan !== undefined);
  return new Map(
    views.flatMap(({ path: file, state }) =>
      state === 'withheld' || state === 'being_checked' ? [[`output/${file}`, state] as const] : [],
    ),
  );
}

function offeredOutputs(cwd: string, runId: string) {
  const home = homeFrom(cwd);
  const record = readRecord(home, runId);
  if (!record) throw noRun();
  const folder = path.join(home, 'runs', 'script', runId);
  const views = outputViews(folder, record, scriptSettingsIn(home).scan !== undefined);
  const offered = outputFiles(folder).flatMap((sealed, index) => {
    const view = views[index];
    return view?.state === 'offered' ? [{ view, sealed }] : [];
  });
  return { folder, offered, name: record.ordered.published.name };
}
