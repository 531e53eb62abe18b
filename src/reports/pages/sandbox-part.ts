import type { Runner } from '../../contracts/runner/shape.ts';
import { hasCode } from '../../contracts/runner/warnings.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import { shortListOf } from './bounded.ts';
import type { PageGuard, PageSandbox } from './run-data.ts';

/** What the sandbox of a step is read from. */
export interface SandboxSources extends Pick<ScriptOutcome, 'enforcement' | 'observed'> {
  readonly runner: Pick<Runner, 'sandbox' | 'warnings'> | undefined;
  /** Why there is no runner record. */
  readonly absent: string | undefined;
  readonly asked: { readonly sandbox: string | null; readonly network: string | null; readonly environment: string };
}

/** What was requested, what enforced it, and what the probes saw in the same sandbox before the run. */
export function sandboxPart(from: SandboxSources): PageSandbox {
  const { runner, absent } = from;
  return {
    guards: guardsOf(from),
    warnings: shortListOf(runner?.warnings ?? [], WARNINGS_MAX),
    absent: runner ? null : (absent ?? 'The run has no record of its sandbox.'),
  };
}

const WARNINGS_MAX = 50;

function guardsOf({ runner, enforcement, observed, asked }: SandboxSources): PageGuard[] {
  const { seccomp, user, kill, output } = enforcement;
  const probe = (what: ScriptOutcome['observed'][number]['what']): PageGuard['probe'] => {
    const found = observed.find(one => one.what === what);
    return found ? { held: found.held, note: found.note } : null;
  };
  const { sandbox } = runner ?? {};
  return [
    {
      name: 'Isolation',
      asked: asked.sandbox,
      enforced: !sandbox
        ? UNKNOWN
        : sandbox.backend === 'none'
          ? 'none: no isolation'
          : `${sandbox.backend} sandbox, ${sandbox.isolation_level}`,
      probe: null,
    },
    { name: 'Network', asked: asked.network, enforced: runner ? networkOf(runner) : UNKNOWN, probe: probe('network') },
    {
      name: 'File system',
      asked: null,
      enforced: [
        !sandbox ? UNKNOWN : sandbox.filesystem_readonly ? 'read-only' : 'writable',
        ...(output === 'tmpfs' ? ['work folder of limited size'] : []),
      ].join(', '),
      probe: probe('file_system'),
    },
    {
      name: 'Environment',
      asked: asked.environment,
      enforced: runner ? 'only listed variables' : UNKNOWN,
      probe: probe('environment'),
    },
    {
      name: 'Privileges',
      asked: null,
      enforced: `${seccomp ? 'system call filter' : 'no system call filter'}, ${user ? 'not root' : 'root'}`,
      probe: probe('privileges'),
    },
    {
      name: 'End of the run',
      asked: null,
      enforced:
        kill === 'pid_namespace' ? 'the kernel ends every process' : 'Proctor ends the processes of the process group',
      probe: null,
    },
  ];
}

const UNKNOWN = 'unknown';

function networkOf({ sandbox, warnings = [] }: Pick<Runner, 'sandbox' | 'warnings'>): string {
  if (sandbox.network_blocked) return 'blocked';
  return warnings.some(warning => hasCode(warning, 'network')) ? 'only to the model' : 'open';
}
