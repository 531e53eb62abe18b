import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runner } from '../../../src/contracts/runner/index.ts';
import { scriptRequest } from '../../../src/contracts/script-request/index.ts';
import type { Machine } from '../../../src/execute/host/machine.ts';
import { effectiveLimits } from '../../../src/policy/effective-limits.ts';
import { checkOrder, type ScriptOrder } from '../../../src/run/script/order.ts';
import { offersOf } from '../../../src/run/pipeline/runner-plan.ts';
import { scriptJob, scriptPlan } from '../../../src/run/script/plan.ts';
import { STARTED_AT } from '../../evidence/script/script-world.ts';
import { exampleWith, judged, rulesOf, temporaryFolder } from '../../support/support.ts';

const MACHINE: Machine = {
  cgroups: 'v2',
  dividesCpus: true,
  countsSockets: true,
  seccomp: true,
  missing: [],
  isRoot: false,
  bootId: 'boot',
};
const NO_GROUPS: Machine = { ...MACHINE, cgroups: 'none', dividesCpus: false, countsSockets: false };
const SECRET = 'correct-horse-battery';

function planned(changes: Partial<ScriptOrder> = {}, machine = MACHINE) {
  const script = path.join(temporaryFolder(), 'sum.py');
  writeFileSync(script, 'print()');
  const order = checkOrder({ script, ...changes });
  const effective = effectiveLimits(order.bounds, offersOf(machine));
  const job = scriptJob('script_x', order, effective, '/stage', false);
  const file = { name: 'sum.py', sha256: `sha256:${'0'.repeat(64)}`, bytes: 7 } as const;
  const plan = scriptPlan({
    id: 'script_x',
    order,
    effective,
    machine,
    job,
    script: file,
    inputs: [],
    observed: [],
    startedAtMs: STARTED_AT,
  });
  return { plan, job };
}

describe('the guarantees of a machine', () => {
  test.each([
    ['all features', MACHINE, 'strict', []],
    ['no control groups', NO_GROUPS, 'standard', [/control groups/]],
    ['no system call filter', { ...MACHINE, seccomp: false }, 'standard', [/system call filter/]],
    [
      'neither control groups nor a filter',
      { ...NO_GROUPS, seccomp: false },
      'standard',
      [/control groups/, /system call filter/],
    ],
  ] as const)('with %s are stated', (_, machine, isolation, lacks) => {
    const [bare, sandbox] = offersOf(machine);
    const { dividesCpus, countsSockets, cgroups } = machine;
    const can = { dividesCpus, countsSockets };
    expect(bare).toEqual({
      sandbox: 'none',
      isolation: 'none',
      lacks: [],
      machine: { ...can, kind: 'no_sandbox' },
    });
    expect(sandbox).toEqual({
      sandbox: 'process',
      isolation,
      lacks: lacks.map(lack => expect.stringMatching(lack)),
      machine: { ...can, kind: cgroups === 'none' ? 'no_groups' : 'cgroup_v2' },
    });
  });

  test('name the missing programs without their paths', () => {
    const [, sandbox] = offersOf({ ...MACHINE, missing: ['/usr/bin/bwrap', '/usr/bin/setpriv'] });
    expect(sandbox?.unusable).toBe('The sandbox needs programs that are not installed: bwrap, setpriv.');
  });
});

describe('the npm version', () => {
  /** The npm version in the record, if this is the package.json of the npm next to node. */
  function recorded(npm?: string) {
    const folder = temporaryFolder();
    const beside = path.join(folder, 'lib/node_modules/npm');
    mkdirSync(beside, { recursive: true });
    if (npm !== undefined) writeFileSync(path.join(beside, 'package.json'), npm);
    const { execPath } = process;
    onTestFinished(() => void (process.execPath = execPath));
    process.execPath = path.join(folder, 'bin/node');
    const { platform, warnings = [] } = planned().plan.runner;
    return { npm: platform.npm_version, isWarned: warnings.includes('npm: not found next to node') };
  }

  test('comes from the package next to node', () => {
    expect(recorded('{"version":"10.9.2"}')).toEqual({ npm: '10.9.2', isWarned: false });
  });

  // Skipped where the system has its own npm, because Proctor finds that one instead.
  test.runIf(!existsSync('/usr/share/nodejs/npm')).each([
    ['is missing', undefined],
    ['is broken', '{"version":'],
    ['has no version', '{}'],
    ['has an invalid version', '{"version":"newest"}'],
    ['has a version that is not a string', '{"version":10}'],
  ])('is 0.0.0 if that package %s, and the record has a warning', async (_, npm) => {
    expect(recorded(npm)).toEqual({ npm: '0.0.0', isWarned: true });
  });
});

describe('the program of a run', () => {
  test('sees its script in the sandbox, and no host path', () => {
    const { job } = planned({ args: ['--a', ''] });
    expect(job.argv.slice(-3)).toEqual(['/work/sum.py', '--a', '']);
    expect(JSON.stringify([job.argv, job.env])).not.toContain('/stage');
    expect(JSON.stringify([job.argv, job.env])).not.toContain(`${tmpdir()}/`);
    expect(job).toMatchObject({ backend: 'process', network: 'blocked', staged: ['sum.py', 'input'], secrets: [] });
  });

  test('sees its script in the stage if there is no sandbox', () => {
    const { job } = planned({ bounds: { sandbox: 'none' } });
    expect(job.argv.at(-1)).toBe('/stage/work/sum.py');
    expect(job.env).toMatchObject({ PYTHONPATH: '/stage/opt', PROCTOR_TOOL: '/stage/opt/proctor-tool.mjs' });
    expect(job.limits).not.toHaveProperty('memoryBytes');
  });

  test("gets its variables and secrets next to Proctor's variables", () => {
    const { job } = planned({ env: { A: '1' }, secrets: { B: SECRET } });
    expect(Object.keys(job.env).sort()).toEqual(['A', 'B', 'HOME', 'LANG', 'PATH', 'PROCTOR_TOOL', 'PYTHONPATH', 'TZ']);
    expect(job.env).toMatchObject({ A: '1', B: SECRET });
    expect(job.secrets).toEqual([SECRET]);
  });

  test('has a larger work folder than its output limits', () => {
    const { limits } = planned({ bounds: { outputBytesMax: 1_024, outputFilesMax: 1 } }).job;
    expect(limits.workBytes).toBeGreaterThan(1_024);
    expect(limits.workEntries).toBeGreaterThan(2);
  });
});

describe('the plan of a run', () => {
  const { timing, exit } = runner.example as { timing: unknown; exit: unknown };

  test.each([
    ['in a sandbox', {}, MACHINE],
    ['without a sandbox', { bounds: { sandbox: 'none' } }, MACHINE],
    ['on a machine without control groups and seccomp', {}, { ...MACHINE, cgroups: 'none', seccomp: false }],
    ['with limits', { bounds: { cpuSeconds: 3, idleMs: 500, memoryBytes: 64 * 1024 ** 2, pids: 3 } }, MACHINE],
  ] as const)('%s satisfies its contracts', async (_, changes, machine) => {
    const { plan } = planned({ ...changes, env: { Z: '1', A: '2' }, secrets: { T: SECRET } }, machine);
    expect(rulesOf(await judged(scriptRequest, plan.request))).toEqual([]);
    expect(rulesOf(await judged(runner, { ...plan.runner, timing, exit }))).toEqual([]);
    expect(JSON.stringify(plan)).not.toContain(SECRET);
    expect(plan.request.env_names).toEqual(['A', 'Z']);
  });

  test('states only limits that are enforced over the whole run', () => {
    const asked = { bounds: { cpuSeconds: 3, memoryBytes: 64 * 1024 ** 2 } };
    expect(planned(asked).plan.runner.limits).toMatchObject({ max_memory_bytes: 64 * 1024 ** 2, max_cpu_seconds: 3 });
    const { runner: poor, enforcement } = planned(asked, NO_GROUPS).plan;
    expect(Object.keys(poor.limits).sort()).toEqual(['max_output_files', 'max_total_output_bytes', 'timeout_ms']);
    expect(enforcement.claims).toContainEqual({ limit: 'memory_bytes', value: 64 * 1024 ** 2, claim: 'watched' });
    expect(enforcement.claims).toContainEqual({ limit: 'cpu_seconds', value: 3, claim: 'watched' });
    expect(enforcement.claims).toContainEqual({ limit: 'cpus', value: null, claim: 'absent' });
    expect(poor.warnings?.filter(warning => warning.startsWith('limit_watched: '))).toHaveLength(2);
  });

  test('states what enforces each limit, and claims only clocks and counts without a sandbox', () => {
    const { claims: _claims, ...mechanisms } = planned({ bounds: { cpuSeconds: 3 } }).plan.enforcement;
    expect(mechanisms).toEqual({
      memory: 'cgroup_v2',
      pids: 'cgroup_v2',
      cpu: 'cgroup_v2',
      output: 'tmpfs',
      seccomp: true,
      user: true,
      kill: 'pid_namespace',
    });
    expect(planned().plan.enforcement.cpu).toBe('none');
    expect(planned({}, NO_GROUPS).plan.enforcement).toMatchObject({ memory: 'rlimit', pids: 'rlimit' });
    const bare = planned({ bounds: { sandbox: 'none' } }).plan;
    expect(bare.enforcement).toMatchObject({
      memory: 'none',
      pids: 'none',
      cpu: 'none',
      output: 'none',
      seccomp: false,
    });
    const claimed = bare.enforcement.claims?.filter(({ claim }) => claim !== 'absent').map(({ limit }) => limit);
    expect(claimed).toEqual(['timeout_ms', 'output_files', 'output_bytes']);
    expect(bare.runner.sandbox).toEqual({
      backend: 'none',
      isolation_level: 'none',
      network_blocked: false,
      filesystem_readonly: false,
    });
  });

  test.each([
    ['a secret', `--token=${SECRET}`, '--token=[masked]'],
    ['a credential', `ghp_${'a1'.repeat(18)}`, '[masked]'],
    ['a password that begins with a secret', `https://me:${SECRET}22@example.org`, 'https://me:[masked]@example.org'],
  ])('masks an argument with %s', async (_, arg, expected) => {
    const { plan } = planned({ args: [arg], secrets: { T: SECRET } });
    expect(plan.request.args).toEqual([expected]);
    expect(rulesOf(await judged(scriptRequest, plan.request))).toEqual([]);
  });

  test('satisfies its contract for any arguments', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 6 }),
      fc.constantFrom('://u:', '@', 'Bearer ', 'abcdefghijklmnopqrst', 'sk-', 'pass'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 8 }), fc.array(piece, { maxLength: 2 }), async (pieces, secret) => {
        const arg = pieces.join('').replaceAll('\0', '');
        const { plan } = planned({ args: [arg], secrets: { T: secret.join('').replaceAll('\0', '') } });
        expect(rulesOf(await judged(scriptRequest, exampleWith(scriptRequest, { args: plan.request.args })))).toEqual(
          [],
        );
      }),
      { numRuns: 200 },
    );
  });
});
