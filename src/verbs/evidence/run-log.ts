import { closeSync, fstatSync, readSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { openRegularBelow } from '../../base/regular.ts';
import { looseKeys } from '../../evidence/document.ts';
import { expiredIn } from '../../evidence/run-folder/expired.ts';
import { runsIn } from '../../evidence/run-folder/runs.ts';
import { readLog } from '../../evidence/step/log.ts';
import type { RunLogView } from './file-view.ts';

/** The internal log and the printed output of a run, for operators. Reads a bounded part of each. */
export function runLog({ folder }: { readonly folder: string }): RunLogView {
  const entries = readLog(folder);
  const expired = expiredIn(folder);
  const streams = STREAMS.map(name => streamIn(folder, name));
  return {
    run_id: path.basename(folder),
    correlation_id: correlationIn(folder) ?? null,
    entries: entries
      .slice(0, ENTRIES_MAX)
      .map(({ level, code, detail }) => ({ level, code, detail: detail.slice(0, DETAIL_CHARS_MAX).toWellFormed() })),
    entries_total: entries.length,
    streams,
    is_expired: [...expired].some(name => !name.startsWith('output/')),
  };
}

const STREAMS = ['stdout', 'stderr'] as const;
const ENTRIES_MAX = 1_000;
const DETAIL_CHARS_MAX = 10_000;
const SHOWN_BYTES_MAX = 512 * 1024;

function streamIn(folder: string, name: (typeof STREAMS)[number]): RunLogView['streams'][number] {
  for (const step of STEPS) {
    const file = `evidence/steps/${step}/${name}.txt`;
    const fd = openRegularBelow(folder, file);
    if (fd === undefined) continue;
    try {
      const bytes = Buffer.alloc(SHOWN_BYTES_MAX);
      const length = readSync(fd, bytes, 0, SHOWN_BYTES_MAX, 0);
      const { size } = fstatSync(fd);
      const isCut = size > length;
      // A decoder that expects more leaves out a character that the cut has torn.
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, length), { stream: isCut });
      return { name, path: file, text, bytes: size, is_cut: isCut };
    } finally {
      closeSync(fd);
    }
  }
  return { name, path: null, text: null, bytes: null, is_cut: false };
}

const STEPS = ['script', 'intent', 'agent'];

/** The run whose user got this correlation id. Looks at the newest runs. */
export function runOfCorrelation({
  home,
  correlationId,
}: {
  readonly home: string;
  readonly correlationId: string;
}): string {
  const places = runsIn(home).reverse().slice(0, RUNS_MAX);
  const found = places.find(({ folder }) => correlationIn(folder) === correlationId);
  if (!found) throw new Fault('no_log', `No run here has the correlation id ${correlationId}.`);
  return found.id;
}

const RUNS_MAX = 50_000;

function correlationIn(folder: string): string | undefined {
  const { correlation_id: id } = looseKeys(path.join(folder, 'evidence/outcome.json'), OUTCOME_BYTES_MAX);
  return typeof id === 'string' && /^[a-z0-9]{12,32}$/.test(id) ? id : undefined;
}

const OUTCOME_BYTES_MAX = 16 * 1024 ** 2;
