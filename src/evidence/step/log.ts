import path from 'node:path';
import { canonicalize } from '../../base/canonical.ts';
import { instantText } from '../../base/clock.ts';
import { readJson } from '../../base/json.ts';
import { readRegular } from '../../base/regular.ts';
import type { Document } from '../document.ts';

/** An entry of the internal log. */
export interface Remark {
  readonly level: 'error' | 'warning' | 'note';
  readonly code: string;
  readonly detail: string;
}

/** The internal log, for operators only. */
export function logOf(remarks: readonly Remark[], completedAtMs: number, correlationId: string): Document[] {
  if (remarks.length === 0) return [];
  const at = instantText(completedAtMs);
  const lines = remarks.map(({ level, code, detail }) =>
    canonicalize({ at, level, code, detail, correlation_id: correlationId }),
  );
  return [['evidence/internal/log.ndjson', `${lines.join('\n')}\n`]];
}

export interface LogLine {
  readonly level: string;
  readonly code: string;
  readonly detail: string;
}

export function readLog(folder: string): LogLine[] {
  const text = readRegular(path.join(folder, 'evidence/internal/log.ndjson'), LOG_BYTES_MAX)?.toString() ?? '';
  return text.split('\n').flatMap(line => {
    const reading = readJson(Buffer.from(line), { bytesMax: LOG_BYTES_MAX });
    const { level, code, detail } = (reading.ok ? reading.value : {}) as Record<string, unknown>;
    return typeof level === 'string' && typeof code === 'string' && typeof detail === 'string'
      ? [{ level, code, detail }]
      : [];
  });
}

const LOG_BYTES_MAX = 16 * 1024 * 1024;
