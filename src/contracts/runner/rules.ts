import { unsafePath } from '../../base/path.ts';
import { sortedAndUnique } from '../lists.ts';
import { must, NO_UNKNOWN_KEYS, rulesFor, should } from '../rule.ts';
import { SEMVER } from '../shape.ts';
import type { Runner } from './shape.ts';
import { RN9 } from './timing.ts';
import { isForbidden, isSetByProctor, isRevealing } from './variables.ts';

const rule = rulesFor<Runner>();

const RN1 = rule({
  id: 'RN1',
  title: 'Schema Version Present',
  why: 'The version tells a reader which rules apply to a record.',
  asks: ['runner_schema_version is "1.0.0"'],
  fields: ['runner_schema_version'],
  breach: runner => ({ ...runner, runner_schema_version: '2.0.0' }),
});

const RN2 = rule({
  id: 'RN2',
  title: 'Runner Identity Valid',
  why: 'Each execution has its own record, so an id must not be used twice.',
  asks: [
    'runner_id is runner_, eight digits, _, six digits, _, and lower-case letters or digits',
    'runner_id is unique in its file or folder',
    'runner_version is not blank',
    'should: runner_version is a semantic version',
  ],
  fields: ['runner_id', 'runner_version'],
  *check({ runner_version }) {
    if (!SEMVER.test(runner_version)) yield should('runner_version', 'should be a semantic version such as 1.2.3');
  },
  breach: runner => ({ ...runner, runner_id: 'runner_today' }),
});

const RN3 = rule({
  id: 'RN3',
  title: 'Platform Complete',
  why: 'To reproduce a result, you must know the system, the processor and the runtime.',
  asks: [
    'os is linux, darwin or win32',
    'arch is x64, arm64 or ia32',
    'node_version is v followed by a semantic version',
    'npm_version is a semantic version',
  ],
  fields: ['platform'],
  breach: runner => ({ ...runner, platform: { ...runner.platform, node_version: 'latest' } }),
});

const RN4 = rule({
  id: 'RN4',
  title: 'Sandbox Configuration Valid',
  why: 'A record must not claim both a sandbox and no isolation.',
  asks: [
    'backend is process, container, vm or none',
    'isolation_level is strict, standard or none',
    'network_blocked and filesystem_readonly are true or false',
    'if isolation_level is none, backend is none',
    'should: if backend is none, the record claims no isolation, no blocked network and no read-only file system',
  ],
  fields: ['sandbox'],
  parts: [
    {
      over: ['sandbox.backend', 'sandbox.isolation_level'],
      *check({ sandbox: { backend, isolation_level } }) {
        if (isolation_level === 'none' && backend !== 'none') {
          yield must('sandbox.backend', 'must be "none" if isolation_level is "none"');
        }
        if (isolation_level !== 'none' && backend === 'none') {
          yield should('sandbox.isolation_level', 'claims isolation, but backend is "none"');
        }
      },
    },
    {
      over: ['sandbox'],
      *check({ sandbox: { backend, network_blocked, filesystem_readonly } }) {
        if (backend !== 'none') return;
        if (network_blocked) yield should('sandbox.network_blocked', 'claims a blocked network, but backend is "none"');
        if (filesystem_readonly)
          yield should('sandbox.filesystem_readonly', 'claims a read-only file system, but backend is "none"');
      },
    },
  ],
  breach: runner => ({ ...runner, sandbox: { ...runner.sandbox, isolation_level: 'none' } }),
});

const RN5 = rule({
  id: 'RN5',
  title: 'Limits Within Bounds',
  why: 'Every run must have limits on its time and its output.',
  asks: [
    'timeout_ms is from 1,000 to 600,000',
    'max_output_files is from 1 to 10,000',
    'max_total_output_bytes is from 1,024 to 1,073,741,824',
    'max_memory_bytes and max_cpu_seconds, if present, are above 0',
    'should: all limits except max_cpu_seconds are integers',
  ],
  fields: ['limits'],
  *check({ limits }) {
    for (const [name, limit] of Object.entries(limits)) {
      const isCounted = name !== 'max_cpu_seconds' && typeof limit === 'number';
      if (isCounted && !Number.isSafeInteger(limit))
        yield should(`limits.${name}`, 'should be an integer that JSON represents exactly');
    }
  },
  breach: runner => ({ ...runner, limits: { ...runner.limits, timeout_ms: 999 } }),
});

const RN6 = rule({
  id: 'RN6',
  title: 'Commands Canonical',
  why: 'Equal policies must have equal bytes, and a command cannot be both allowed and blocked.',
  asks: [
    'allowlist and blocklist are lists of strings, sorted by UTF-16 code unit',
    'no command is in both',
    'shell is not empty',
    'should: no command is a duplicate, and shell is not inside a home folder',
  ],
  fields: ['commands'],
  parts: [
    {
      over: ['commands.allowlist', 'commands.blocklist'],
      shallow: true,
      *check({ commands: { allowlist, blocklist } }) {
        yield* sortedAndUnique(allowlist, 'commands.allowlist');
        yield* sortedAndUnique(blocklist, 'commands.blocklist');
        const allowed = new Set(allowlist);
        for (const [index, command] of blocklist.entries()) {
          if (allowed.has(command)) yield must(`commands.blocklist[${index}]`, 'is also in the allowlist');
        }
      },
    },
    {
      over: ['commands.shell'],
      *check({ commands: { shell } }) {
        if (HOME.test(shell)) yield should('commands.shell', 'is inside a home folder, which reveals the user');
      },
    },
  ],
  breach: ({ commands, ...rest }) => ({ ...rest, commands: { ...commands, blocklist: ['node'] } }),
});

const RN7 = rule({
  id: 'RN7',
  title: 'Write Roots Valid',
  why: 'An absolute root, or one with .., leaves the work folder and reveals the layout of the host.',
  asks: [
    'write_roots is a list of strings, sorted by UTF-16 code unit',
    'every root is a relative path: no leading / or \\, no drive, no ~',
    'no root has a .. segment, an empty segment or a control character',
    'should: no root is a duplicate',
  ],
  fields: ['write_roots'],
  parts: [
    {
      over: ['write_roots'],
      shallow: true,
      *check({ write_roots }) {
        for (const [index, root] of write_roots.entries()) {
          const reason = typeof root === 'string' && unsafePath(root);
          if (reason) yield must(`write_roots[${index}]`, reason);
        }
        yield* sortedAndUnique(write_roots, 'write_roots');
      },
    },
  ],
  breach: runner => ({ ...runner, write_roots: ['/etc'] }),
});

const RN8 = rule({
  id: 'RN8',
  title: 'Context Safe',
  why: 'Variable names can reveal where credentials are, and the locale and time zone affect results.',
  asks: [
    'working_dir is "."',
    'env_allowlist is a sorted list of variable names, without values',
    'no name starts with SSH_, NPM_, GIT_, AWS_, OPENAI_ or ANTHROPIC_',
    'locale is C, POSIX, a POSIX name such as en_US.UTF-8 or a language tag such as en-US',
    'should: timezone is UTC',
    'should: env_allowlist has no duplicates, and no variable that often holds a secret or reveals the user',
    'in a run folder, HOME, PATH and npm_config_update_notifier are allowed, because Proctor sets them',
  ],
  fields: ['context'],
  parts: [
    {
      over: ['context.env_allowlist'],
      shallow: true,
      *check({ context: { env_allowlist } }, { ofRun = false }) {
        for (const [index, name] of env_allowlist.entries()) {
          if (typeof name !== 'string') continue;
          const path = `context.env_allowlist[${index}]`;
          if (isForbidden(name)) yield must(path, 'starts with a prefix that is reserved for credentials');
          else if (isRevealing(name) && !(ofRun && isSetByProctor(name)))
            yield should(path, 'often holds a secret or reveals the user');
        }
        yield* sortedAndUnique(env_allowlist, 'context.env_allowlist');
      },
    },
    {
      over: ['context.timezone'],
      *check({ context: { timezone } }) {
        if (timezone !== 'UTC')
          yield should('context.timezone', 'should be UTC, so that the run can be reproduced elsewhere');
      },
    },
  ],
  breach: ({ context, ...rest }) => ({ ...rest, context: { ...context, env_allowlist: ['AWS_REGION'] } }),
});

const RN10 = rule({
  id: 'RN10',
  title: 'Exit Status Valid',
  why: 'The exit status is the first thing a reader looks for.',
  asks: [
    'code is an integer from 0 to 255',
    'signal, if present, is SIG followed by upper-case letters or digits',
    'oom_killed and timeout_killed are true or false',
    'should: after a timeout, signal is SIGKILL or SIGTERM',
    'should: a killed program does not have code 0',
  ],
  fields: ['exit'],
  *check({ exit: { code, signal, oom_killed, timeout_killed } }) {
    if (timeout_killed && signal !== 'SIGKILL' && signal !== 'SIGTERM') {
      yield should('exit.signal', 'should be SIGKILL or SIGTERM if timeout_killed is true');
    }
    if (code === 0 && (oom_killed || timeout_killed || signal !== undefined)) {
      yield should('exit.code', 'is 0, but the program was killed');
    }
  },
  breach: ({ exit, ...rest }) => ({ ...rest, exit: { ...exit, code: 256 } }),
});

const RN11 = rule({
  id: 'RN11',
  title: 'Core Hash Excludes Ephemeral',
  why: 'The hash must cover what matters, and nothing that varies between equal runs.',
  asks: [
    'ephemeral, if present, is an object; its host_id, session_id and human_notes are strings',
    'the hash covers neither ephemeral nor timing',
    NO_UNKNOWN_KEYS,
  ],
  fields: ['ephemeral'],
  breach: runner => ({ ...runner, ephemeral: { host_id: 7 } }),
});

const RN12 = rule({
  id: 'RN12',
  title: 'Canonical Round-Trip',
  why: 'A record can be hashed only if reading and rewriting it changes nothing.',
  asks: [
    'warnings, if present, is a sorted list of strings',
    'the record is plain JSON: reading and writing it changes nothing',
    'should (must, when strict): the bytes are canonical JSON',
  ],
  fields: ['warnings'],
  *check({ warnings = [] }) {
    for (const finding of sortedAndUnique(warnings, 'warnings')) if (finding.level === 'must') yield finding;
  },
  breach: runner => ({ ...runner, warnings: ['b', 'a'] }),
});

export const runnerRules = [RN1, RN2, RN3, RN4, RN5, RN6, RN7, RN8, RN9, RN10, RN11, RN12];

const HOME = /^(?:\/home\/|\/Users\/|\/root(?:\/|$)|~|[A-Za-z]:\\Users\\)/;
