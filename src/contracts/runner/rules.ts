import { parseInstant } from '../../base/clock.ts';
import { unsafePath } from '../../base/path.ts';
import { sortedAndUnique } from '../lists.ts';
import { must, rulesFor, should } from '../rule.ts';
import { SEMVER } from '../shape.ts';
import type { Runner } from './shape.ts';

const rule = rulesFor<Runner>();

const RN1 = rule({
  id: 'RN1',
  title: 'Schema Version Present',
  why: 'Without a version nobody can say by which rules a record was meant.',
  fields: ['runner_schema_version'],
  breach: runner => ({ ...runner, runner_schema_version: '2.0.0' }),
});

const RN2 = rule({
  id: 'RN2',
  title: 'Runner Identity Valid',
  why: 'Each execution has a record of its own; two with one id cannot both be true.',
  fields: ['runner_id', 'runner_version'],
  *check({ runner_version }) {
    if (!SEMVER.test(runner_version)) yield should('runner_version', 'should be a semantic version such as 1.2.3');
  },
  breach: runner => ({ ...runner, runner_id: 'runner_today' }),
});

const RN3 = rule({
  id: 'RN3',
  title: 'Platform Complete',
  why: 'A result can be reproduced only where system, processor and runtime are known.',
  fields: ['platform'],
  breach: runner => ({ ...runner, platform: { ...runner.platform, node_version: 'latest' } }),
});

const RN4 = rule({
  id: 'RN4',
  title: 'Sandbox Configuration Valid',
  why: 'A record must not claim a sandbox and no isolation at once.',
  fields: ['sandbox'],
  *check({ sandbox }) {
    const { backend, isolation_level, network_blocked, filesystem_readonly } = sandbox;
    if (isolation_level === 'none' && backend !== 'none') {
      yield must('sandbox.backend', 'must be "none" where isolation_level is "none"');
    }
    if (backend !== 'none') return;
    if (isolation_level !== 'none') yield should('sandbox.isolation_level', 'claims isolation that no backend gives');
    if (network_blocked) yield should('sandbox.network_blocked', 'claims a block that no backend enforces');
    if (filesystem_readonly)
      yield should('sandbox.filesystem_readonly', 'claims a protection that no backend enforces');
  },
  breach: runner => ({ ...runner, sandbox: { ...runner.sandbox, isolation_level: 'none' } }),
});

const RN5 = rule({
  id: 'RN5',
  title: 'Limits Within Bounds',
  why: 'A run without an end or an output without a size is not bounded.',
  fields: ['limits'],
  *check({ limits }) {
    for (const [name, limit] of Object.entries(limits)) {
      const isCounted = name !== 'max_cpu_seconds' && typeof limit === 'number';
      if (isCounted && !Number.isSafeInteger(limit))
        yield should(`limits.${name}`, 'should be a whole number that can be counted exactly');
    }
  },
  breach: runner => ({ ...runner, limits: { ...runner.limits, timeout_ms: 999 } }),
});

const RN6 = rule({
  id: 'RN6',
  title: 'Commands Canonical',
  why: 'Two records of one policy must be equal byte for byte, and no command both allowed and blocked.',
  fields: ['commands'],
  *check({ commands: { allowlist, blocklist, shell } }) {
    yield* sortedAndUnique(allowlist, 'commands.allowlist');
    yield* sortedAndUnique(blocklist, 'commands.blocklist');
    const allowed = new Set(allowlist);
    for (const [index, command] of blocklist.entries()) {
      if (allowed.has(command)) yield must(`commands.blocklist[${index}]`, 'is in the allowlist too');
    }
    if (HOME.test(shell)) yield should('commands.shell', 'lies below a home folder and tells who ran it');
  },
  breach: ({ commands, ...rest }) => ({ ...rest, commands: { ...commands, blocklist: ['node'] } }),
});

const RN7 = rule({
  id: 'RN7',
  title: 'Write Roots Valid',
  why: 'An absolute or climbing root tells how the machine is laid out and leads out of the work folder.',
  fields: ['write_roots'],
  *check({ write_roots }) {
    for (const [index, root] of write_roots.entries()) {
      const reason = unsafePath(root);
      if (reason) yield must(`write_roots[${index}]`, reason);
    }
    yield* sortedAndUnique(write_roots, 'write_roots');
  },
  breach: runner => ({ ...runner, write_roots: ['/etc'] }),
});

const RN8 = rule({
  id: 'RN8',
  title: 'Context Safe',
  why: 'Names of variables that carry credentials show where to look for them, and a place or language changes results.',
  fields: ['context'],
  *check({ context: { env_allowlist, timezone } }) {
    for (const [index, name] of env_allowlist.entries()) {
      const path = `context.env_allowlist[${index}]`;
      if (FORBIDDEN.test(name)) yield must(path, 'begins with a prefix that is kept for credentials');
      else if (TELLING.test(name)) yield should(path, 'is a variable that often holds a secret or tells who ran it');
    }
    yield* sortedAndUnique(env_allowlist, 'context.env_allowlist');
    if (timezone !== 'UTC')
      yield should('context.timezone', 'should be UTC, so that a run can be reproduced elsewhere');
  },
  breach: ({ context, ...rest }) => ({ ...rest, context: { ...context, env_allowlist: ['AWS_REGION'] } }),
});

const RN9 = rule({
  id: 'RN9',
  title: 'Timing Consistent',
  why: 'Times that contradict each other prove nothing.',
  fields: ['timing'],
  *check({ timing: { started_at, completed_at, duration_ms, phases = [] } }) {
    const start = instantMs(started_at);
    const end = instantMs(completed_at);
    if (end < start) yield must('timing.completed_at', 'lies before started_at');
    else if (Math.abs(duration_ms - (end - start)) > 1) {
      yield must('timing.duration_ms', `must be ${end - start}, give or take 1, is ${duration_ms}`);
    }
    let previous = Number.NEGATIVE_INFINITY;
    for (const [index, phase] of phases.entries()) {
      const phaseStart = instantMs(phase.started_at);
      const path = `timing.phases[${index}].started_at`;
      if (phaseStart < previous) yield must(path, 'lies before that of the phase above it');
      if (phaseStart < start || phaseStart + phase.duration_ms > end + 1)
        yield should(path, 'and its duration lie outside the run');
      previous = phaseStart;
    }
  },
  breach: ({ timing, ...rest }) => ({ ...rest, timing: { ...timing, duration_ms: timing.duration_ms + 2 } }),
});

const RN10 = rule({
  id: 'RN10',
  title: 'Exit Status Valid',
  why: 'How a program ended is the first thing a reader asks.',
  fields: ['exit'],
  *check({ exit: { code, signal, oom_killed, timeout_killed } }) {
    if (timeout_killed && signal !== 'SIGKILL' && signal !== 'SIGTERM') {
      yield should('exit.signal', 'should be SIGKILL or SIGTERM where timeout_killed is true');
    }
    if (code === 0 && (oom_killed || timeout_killed || signal !== undefined)) {
      yield should('exit.code', 'is 0 although something killed the program');
    }
  },
  breach: ({ exit, ...rest }) => ({ ...rest, exit: { ...exit, code: 256 } }),
});

const RN11 = rule({
  id: 'RN11',
  title: 'Core Hash Excludes Ephemeral',
  why: 'The hash must cover what matters and nothing that may differ for no reason.',
  fields: ['ephemeral'],
  breach: runner => ({ ...runner, ephemeral: { host_id: 7 } }),
});

const RN12 = rule({
  id: 'RN12',
  title: 'Canonical Round-Trip',
  why: 'A record that changes when it is read and written again cannot be hashed.',
  fields: ['warnings'],
  *check({ warnings = [] }) {
    for (const finding of sortedAndUnique(warnings, 'warnings')) if (finding.level === 'must') yield finding;
  },
  breach: runner => ({ ...runner, warnings: ['b', 'a'] }),
});

export const runnerRules = [RN1, RN2, RN3, RN4, RN5, RN6, RN7, RN8, RN9, RN10, RN11, RN12];

const FORBIDDEN = /^(?:SSH|NPM|GIT|AWS|OPENAI|ANTHROPIC)_/;

const TELLING =
  /^(?:SSH|NPM|GIT|AWS|OPENAI|ANTHROPIC)_|TOKEN|SECRET|PASSW|CREDENTIAL|(?:^|_)KEY(?:$|_)|API_?KEY|^(?:HOME|PATH|USER|LOGNAME)$/i;

const HOME = /^(?:\/home\/|\/Users\/|\/root(?:\/|$)|~|[A-Za-z]:\\Users\\)/;

/** Only called on instants whose shape was judged. */
function instantMs(text: string): number {
  return parseInstant(text) ?? Number.NaN;
}
