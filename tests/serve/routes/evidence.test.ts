import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runEvidenceRoute } from '../../../src/serve/routes/evidence.ts';
import type { EvidenceView } from '../../../src/verbs/evidence/evidence-view.ts';
import { Place } from '../../support/runs.ts';
import { misfits, type ServedProject, servedUntilStopped } from '../../support/serve.ts';
import { suiteFolder } from '../../support/suite-world.ts';
import { ROOT } from '../../support/support.ts';

let place: Place;
let project: ServedProject;
let scriptFolder: string;

beforeAll(async () => {
  place = new Place();
  place.file('hello.sh', 'echo hello; echo 1 > output/one.txt\n');
  expect(place.proctor(['keys', 'new']).code).toBe(0);
  place.proctor(['run', 'script', 'hello.sh']);
  [scriptFolder = ''] = place.runFolders();
  await suiteFolder(path.join(place.cwd, '.proctor', 'runs'), { runId: 'suite-one', cases: [{ id: 'a' }] });
  project = await servedUntilStopped(place.cwd);
});

afterAll(async () => {
  await project.stop();
  place.remove();
});

async function evidenceOf(id: string): Promise<EvidenceView> {
  const { status, body } = await project.json(`/v1/runs/${id}/evidence`);
  expect(status).toBe(200);
  expect(misfits(runEvidenceRoute, body)).toEqual([]);
  expect(JSON.stringify(body)).not.toContain(place.cwd);
  return body as EvidenceView;
}

const scriptId = (): string => path.basename(scriptFolder);

describe('the evidence of a run', () => {
  test('names the seal, the signer and the line in the ledger', async () => {
    const evidence = await evidenceOf(scriptId());
    expect(evidence).toMatchObject({
      is_open: false,
      top: { tone: 'good', word: 'Verifies', sentence: 'Every file matches the seal, and your key signed the seal.' },
      verified: { outcome: 'valid', broken: [], violations_total: 0 },
      seal: { run_id: scriptId(), kind: 'script' },
      signature: { state: 'valid' },
      ledger: { state: 'recorded', sequence: 1, lines: 1, chain_holds: true },
      expired: null,
    });
    expect(evidence.signature?.key_ids).toEqual([evidence.signature?.project_key_id]);
    expect(evidence.verified?.not_checked).not.toEqual([]);
  });

  test('can be checked with the commands that it names', async () => {
    const { by_hand: commands } = await evidenceOf(scriptId());
    const script = (commands ?? '').replace('KEY=signing.pub', 'KEY=.proctor/keys/signing.pub');
    const ran = spawnSync('sh', ['-c', script], { cwd: place.cwd, encoding: 'utf8' });
    expect(ran.stderr).toBe('');
    expect(ran.stdout).toContain('No file has changed since it was signed.');
  });

  test('names the commands of the documentation', async () => {
    const { by_hand: commands } = await evidenceOf(scriptId());
    const page = readFileSync(path.join(ROOT, 'docs', 'evidence.md'), 'utf8');
    const documented = page.slice(page.indexOf('## Check a run with'), page.indexOf('### An evaluation'));
    const blocks = [...documented.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text = '']) => text);
    expect(commands?.replace(/^RUN=.*$/m, '')).toBe(blocks.join('').replace(/^RUN=.*$/m, ''));
  });

  test('does not verify after a change, and names the rule and the file', async () => {
    const stream = path.join(scriptFolder, 'evidence/steps/script/stdout.txt');
    appendFileSync(stream, 'more\n');
    await expect.poll(async () => (await evidenceOf(scriptId())).top.word).toBe('Does not verify');
    const { verified } = await evidenceOf(scriptId());
    const violations = verified?.broken.flatMap(part => part.violations) ?? [];
    expect(violations.map(({ rule_id }) => rule_id)).toContain('FD9');
    expect(violations.map(({ message }) => message).join()).toContain('evidence/steps/script/stdout.txt');
    expect(verified?.violations_total).toBe(violations.length);
    truncateSync(stream, 'hello\n'.length);
    await expect.poll(async () => (await evidenceOf(scriptId())).top.word).toBe('Verifies');
  });

  test('follows the ledger: a changed line names another seal, and breaks the chain', async () => {
    const ledger = path.join(place.cwd, '.proctor', 'ledger.ndjson');
    const text = readFileSync(ledger, 'utf8');
    const { seal } = await evidenceOf(scriptId());
    writeFileSync(ledger, text.replace(seal?.sha256 ?? 'none', `sha256:${'0'.repeat(64)}`));
    await expect.poll(async () => (await evidenceOf(scriptId())).ledger?.state).toBe('differs');
    expect((await evidenceOf(scriptId())).top.word).toBe('Does not verify');
    writeFileSync(ledger, `${text}${text}`);
    await expect.poll(async () => (await evidenceOf(scriptId())).ledger?.chain_holds).toBe(false);
    expect((await evidenceOf(scriptId())).ledger?.troubles[0]?.rule_id).toMatch(/^LD/);
    writeFileSync(ledger, text);
    await expect.poll(async () => (await evidenceOf(scriptId())).ledger?.chain_holds).toBe(true);
  });

  test('says that an unsigned run reveals accidents only, and that the ledger has no line', async () => {
    const { top, signature, ledger } = await evidenceOf('suite-one');
    expect(signature?.state).toBe('unsigned');
    expect(ledger?.state).toBe('missing');
    expect(top.sentence).toContain('not signed');
  });

  test('is not sealed while the run goes on', async () => {
    place.file('slow.sh', 'echo begun; sleep 60\n');
    const started = place.start(['run', 'script', 'slow.sh']);
    try {
      const others = () => place.runFolders().map(folder => path.basename(folder));
      await expect.poll(() => others().length).toBe(2);
      const id = others().find(one => one !== scriptId()) ?? '';
      await expect.poll(async () => (await project.ask(`/v1/runs/${id}/evidence`)).status).toBe(200);
      expect(await evidenceOf(id)).toMatchObject({ is_open: true, seal: null, top: { word: 'Not sealed yet' } });
      started.kill('SIGINT');
      await started.ended;
      await expect.poll(async () => (await evidenceOf(id)).ledger?.sequence).toBe(2);
    } finally {
      started.kill('SIGKILL');
    }
  });
});
