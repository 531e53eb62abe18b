import type { Capture } from '../../contracts/capture.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';

type Counted = Pick<Capture, 'cpuMs' | 'memoryPeakBytes' | 'forksDenied' | 'isSampled'>;

/** Resource usage for an outcome. Unknown values are null. */
export function usageOf({ cpuMs, memoryPeakBytes, forksDenied, isSampled }: Counted): ScriptOutcome['usage'] {
  const isMeasured = cpuMs !== undefined || memoryPeakBytes !== undefined;
  return {
    cpu_ms: cpuMs === undefined ? null : Math.round(cpuMs),
    memory_peak_bytes: memoryPeakBytes ?? null,
    forks_denied: forksDenied ?? null,
    measured_by: !isMeasured ? null : isSampled ? 'samples' : 'cgroup',
  };
}
