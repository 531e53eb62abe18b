import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import type { JudgementStatement } from '../../src/contracts/judgement-seal/index.ts';
import { type SealEnvelope, sealEnvelope, type Signer } from '../../src/contracts/seal/index.ts';
import { Place } from './runs.ts';
import { proctor, type Ran, ROOT } from './support.ts';

/** Gives the wrong or the right answer; a check script distinguishes them. */
const ANSWERS = (answer: number): string =>
  `printf '{"final_output":{"content_type":"text","content":"${answer}"}}' > output/reply.json\n`;
const CHECK = `grep -q '"content":"42"' input/artifact.json\n`;

/** In a new user namespace, any user can mount over a program. */
const APART = ['--user', '--map-root-user', '--mount'];
export const canLackSandbox =
  spawnSync('unshare', [...APART, 'mount', '--bind', '/dev/null', '/usr/bin/bwrap']).status === 0;

/** A signed project with a good baseline, a failing candidate, a comparison of both, and an accepted baseline. */
export function makeJudgedPlace(): Place {
  const place = new Place();
  place.file('good.sh', ANSWERS(42));
  place.file('bad.sh', ANSWERS(41));
  place.file('check.sh', CHECK);
  const cases = [{ id: 'total', input: { user: 'What is 6 times 7?' }, expected: { script: { file: 'check.sh' } } }];
  place.file('cases.json', JSON.stringify(cases));
  for (const [args, code] of STEPS) {
    const ran = place.proctor(args);
    if (ran.code !== code)
      throw new Error(`proctor ${args.join(' ')} ended with ${ran.code}: ${ran.stderr}${ran.stdout}`);
  }
  return place;
}

const STEPS: readonly (readonly [args: string[], code: number])[] = [
  [['keys', 'new'], 0],
  [['run', 'suite', 'cases.json', '--script', 'good.sh', '--as', 'baseline', '--run-id', 'before'], 0],
  [['run', 'suite', 'cases.json', '--script', 'bad.sh', '--as', 'new', '--run-id', 'after'], 1],
  [['baseline', 'accept', 'before'], 0],
  [['compare', 'before', 'after', '--gate', 'strict'], 1],
];

/** A copy of such a project for one forgery. */
export class Forged {
  readonly cwd: string;

  constructor(from: Place) {
    this.cwd = mkdtempSync(path.join(tmpdir(), 'proctor-forged-'));
    onTestFinished(() => rmSync(this.cwd, { recursive: true, force: true }));
    cpSync(from.cwd, this.cwd, { recursive: true });
  }

  proctor(...args: string[]): Ran {
    return proctor(args, { cwd: this.cwd });
  }

  /** The same on a machine without a sandbox. */
  withoutSandbox(...args: string[]): Ran {
    const words = [process.execPath, path.join(ROOT, 'dist', 'proctor.js'), ...args];
    const command = 'mount --bind /dev/null /usr/bin/bwrap && exec "$0" "$@"';
    const { status, stdout, stderr } = spawnSync('unshare', [...APART, '/bin/sh', '-c', command, ...words], {
      cwd: this.cwd,
      env: { ...process.env, NO_COLOR: '1', npm_lifecycle_event: '' },
      encoding: 'utf8',
      timeout: 60_000,
    });
    return { code: status, stdout, stderr };
  }

  get after(): string {
    return path.join(this.cwd, '.proctor', 'runs', 'new', 'after');
  }

  get before(): string {
    return path.join(this.cwd, '.proctor', 'runs', 'baseline', 'before');
  }

  get comparison(): string {
    const root = path.join(this.cwd, '.proctor', 'comparisons');
    return path.join(root, readdirSync(root)[0] as string);
  }

  edit(file: string, change: (text: string) => string): void {
    const text = readFileSync(file, 'utf8');
    const changed = change(text);
    if (changed === text) throw new Error('nothing was changed');
    writeFileSync(file, changed);
  }

  /** Inverts the verdicts and keeps the document consistent. */
  whitewash(run = this.after): void {
    this.edit(path.join(run, 'evaluation.json'), text => {
      const evaluation = JSON.parse(text) as { cases: object[]; summary: object };
      const assertions = [{ name: 'script', status: 'pass', message: null, at: null }];
      const cases = evaluation.cases.map(one => {
        const { metrics } = one as { metrics: object };
        return { ...one, verdict: 'pass', error_class: null, assertions, metrics: { ...metrics, score: 1 } };
      });
      const summary = { total: 1, passed: 1, failed: 0, errors: 0, unjudged: 0 };
      return canonicalize({ ...evaluation, cases, summary });
    });
  }

  /** Writes a new seal over the current files of a judgement. */
  reseal(folder: string, file: string, signer?: Signer): void {
    this.edit(path.join(folder, file), text => {
      const { predicate, ...rest } = statementIn(JSON.parse(text) as SealEnvelope);
      const subject = rest.subject.map(({ name }) => {
        const bytes = readFileSync(path.join(folder, name));
        const digest = { sha256: bytesHash(bytes).slice('sha256:'.length) };
        return { name, digest, annotations: { size_bytes: bytes.length } };
      });
      const statement = { ...rest, subject, predicate: { ...predicate, signed: false } };
      return canonicalize(sealEnvelope(statement, signer));
    });
  }
}

export function statementIn({ payload }: SealEnvelope): JudgementStatement {
  return JSON.parse(Buffer.from(payload, 'base64').toString()) as JudgementStatement;
}
