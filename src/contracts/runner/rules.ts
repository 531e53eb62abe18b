import { unsafePath } from '../../base/path.ts';
import { sortedAndUnique } from '../lists.ts';
import { must, rulesFor, should } from '../rule.ts';
import { SEMVER } from '../shape.ts';
import type { Runner } from './shape.ts';
import { RN9 } from './timing.ts';
import { isForbidden, isSetByProctor, isTelling } from './variables.ts';

const rule = rulesFor<Runner>();

const RN1 = rule({
  id: 'RN1',
  title: 'Schema Version Present',
  why: 'Without a version nobody can say by which rules a record was meant.',
  asks: ['runner_schema_version is "1.0.0"'],
  fields: ['runner_schema_version'],
  breach: runner => ({ ...runner, runner_schema_version: '2.0.0' }),
});

const RN2 = rule({
  id: 'RN2',
  title: 'Runner Identity Valid',
  why: 'Each execution has a record of its own; two with one id cannot both be true.',
  asks: [
    'runner_id is runner_, eight digits, six digits and lower-case letters or digits, with _ between',
    'runner_id is used by no other record of the same file or folder',
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
  why: 'A result can be reproduced only where system, processor and runtime are known.',
  asks: [
    'os is linux, darwin or win32',
    'arch is x64, arm64 or ia32',
    'node_version is v and a semantic version',
    'npm_version is a semantic version',
  ],
  fields: ['platform'],
  breach: runner => ({ ...runner, platform: { ...runner.platform, node_version: 'latest' } }),
});

const RN4 = rule({
  id: 'RN4',
  title: 'Sandbox Configuration Valid',
  why: 'A record must not claim a sandbox and no isolation at once.',
  asks: [
    'backend is process, container, vm or none',
    'isolation_level is strict, standard or none',
    'network_blocked and filesystem_readonly are true or false',
    'where isolation_level is none, backend is none',
    'should: backend none claims no isolation, no blocked network and no protected files',
  ],
  fields: ['sandbox'],
  parts: [
    {
      over: ['sandbox.backend', 'sandbox.isolation_level'],
      *check({ sandbox: { backend, isolation_level } }) {
        if (isolation_level === 'none' && backend !== 'none') {
          yield must('sandbox.backend', 'must be "none" where isolation_level is "none"');
        }
        if (isolation_level !== 'none' && backend === 'none') {
          yield should('sandbox.isolation_level', 'claims isolation that no backend gives');
        }
      },
    },
    {
      over: ['sandbox'],
      *check({ sandbox: { backend, network_blocked, filesystem_readonly } }) {
        if (backend !== 'none') return;
        if (network_blocked) yield should('sandbox.network_blocked', 'claims a block that no backend enforces');
        if (filesystem_readonly)
          yield should('sandbox.filesystem_readonly', 'claims a protection that no backend enforces');
      },
    },
  ],
  breach: runner => ({ ...runner, sandbox: { ...runner.sandbox, isolation_level: 'none' } }),
});

const RN5 = rule({
  id: 'RN5',
  title: 'Limits Within Bounds',
  why: 'A run without an end or an output without a size is not bounded.',
  asks: [
    'timeout_ms is from 1,000 to 600,000',
    'max_output_files is from 1 to 10,000',
    'max_total_output_bytes is from 1,024 to 1,073,741,824',
    'max_memory_bytes and max_cpu_seconds, if present, are above 0',
    'should: what is counted is a whole number',
  ],
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
  asks: [
    'allowlist and blocklist are lists of strings, sorted by UTF-16 code unit',
    'no command stands in both',
    'shell is not empty',
    'should: nothing stands twice, and shell lies below no home folder',
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
          if (allowed.has(command)) yield must(`commands.blocklist[${index}]`, 'is in the allowlist too');
        }
      },
    },
    {
      over: ['commands.shell'],
      *check({ commands: { shell } }) {
        if (HOME.test(shell)) yield should('commands.shell', 'lies below a home folder and tells who ran it');
      },
    },
  ],
  breach: ({ commands, ...rest }) => ({ ...rest, commands: { ...commands, blocklist: ['node'] } }),
});

const RN7 = rule({
  id: 'RN7',
  title: 'Write Roots Valid',
  why: 'An absolute or climbing root tells how the machine is laid out and leads out of the work folder.',
  asks: [
    'write_roots is a list of strings, sorted by UTF-16 code unit',
    'every root is a relative path: no leading / or \\, no drive, no ~',
    'no root has a .. between / or \\, an empty segment or a control character',
    'should: nothing stands twice',
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
  why: 'Names of variables that carry credentials show where to look for them, and a place or language changes results.',
  asks: [
    'working_dir is "."',
    'env_allowlist is a sorted list of names of variables, none with a value',
    'no name begins with SSH_, NPM_, GIT_, AWS_, OPENAI_ or ANTHROPIC_',
    'locale is C, POSIX, a POSIX name such as en_US.UTF-8 or a language tag such as en-US',
    'should: timezone is UTC',
    'should: no variable that often holds a secret or tells who ran it, and none twice; in the folder of a run, HOME and PATH are of Proctor and tell nothing',
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
          if (isForbidden(name)) yield must(path, 'begins with a prefix that is kept for credentials');
          else if (isTelling(name) && !(ofRun && isSetByProctor(name)))
            yield should(path, 'is a variable that often holds a secret or tells who ran it');
        }
        yield* sortedAndUnique(env_allowlist, 'context.env_allowlist');
      },
    },
    {
      over: ['context.timezone'],
      *check({ context: { timezone } }) {
        if (timezone !== 'UTC')
          yield should('context.timezone', 'should be UTC, so that a run can be reproduced elsewhere');
      },
    },
  ],
  breach: ({ context, ...rest }) => ({ ...rest, context: { ...context, env_allowlist: ['AWS_REGION'] } }),
});

const RN10 = rule({
  id: 'RN10',
  title: 'Exit Status Valid',
  why: 'How a program ended is the first thing a reader asks.',
  asks: [
    'code is a whole number from 0 to 255',
    'signal, if present, is SIG and upper-case letters or digits',
    'oom_killed and timeout_killed are true or false',
    'should: a run killed by its timeout has SIGKILL or SIGTERM, and nothing that was killed has code 0',
  ],
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
  asks: [
    'ephemeral, if present, is an object, and host_id, session_id and human_notes in it are strings',
    'the hash covers neither ephemeral nor timing',
    'should (must, when strict): no key is unknown',
  ],
  fields: ['ephemeral'],
  breach: runner => ({ ...runner, ephemeral: { host_id: 7 } }),
});

const RN12 = rule({
  id: 'RN12',
  title: 'Canonical Round-Trip',
  why: 'A record that changes when it is read and written again cannot be hashed.',
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
