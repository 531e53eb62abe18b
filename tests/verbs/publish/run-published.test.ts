import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { stateFolder } from '../../../src/base/state-folder.ts';
import { SCRIPT_RUN_STATES } from '../../../src/publish/views.ts';
import { readRecord } from '../../../src/publish/script-runs.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { downloadArchive, downloadOutput } from '../../../src/verbs/publish/published-downloads.ts';
import { ScriptRunList, publishedRunView } from '../../../src/verbs/publish/published-view.ts';
import { publishScript, withdrawVersion } from '../../../src/verbs/publish/publish.ts';
import { runPublished, runStaged, stagePublished } from '../../../src/verbs/publish/run-published.ts';
import { verify } from '../../../src/verify/index.ts';
import { faultOf, PublishWorld } from '../../publish/world.ts';

afterAll(closeLauncher);

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  return Buffer.from(await new Response(stream).arrayBuffer());
}

/** The verdict on a folder as a whole. */
async function verdictOf(folder: string) {
  const verdicts = [];
  for await (const verdict of verify([folder])) verdicts.push(verdict);
  return verdicts.at(-1);
}

describe('a run of a published script', () => {
  test('gets typed values and files under safe names, and evidence names the version but not the person', async () => {
    const world = new PublishWorld();
    world.script({
      files: ['notes/template.txt'],
      inputs: [
        { kind: 'text', name: 'word', label: 'Word', default: 'hello' },
        { kind: 'number', name: 'count', label: 'Count' },
        { kind: 'file', name: 'list', label: 'List', accept: ['.csv'] },
      ],
      limits: { timeout: '30s', max_files: 7 },
    });
    world.file('notes/template.txt', 'template');
    const { digest } = await publishScript('tool', { cwd: world.cwd });
    const list = path.join(world.cwd, 'upload-1');
    writeFileSync(list, 'a,b\n');
    const result = await runPublished({
      name: 'echo',
      values: { count: '3' },
      files: [{ field: 'list', name: 'My \u202eList.CSV', bytes: 4, file: list }],
      by: 'grace@example.org',
      cwd: world.cwd,
    });
    expect(result.status).toBe('succeeded');
    expect(result.runner.limits.max_output_files).toBe(7);
    const inputs = JSON.parse(readFileSync(path.join(result.folder, 'output', 'inputs.json'), 'utf8')) as unknown;
    expect(inputs).toEqual({
      word: 'hello',
      count: 3,
      list: { path: 'input/list.csv', label: 'My List.CSV', bytes: 4 },
    });
    expect(readdirSync(path.join(result.folder, 'output')).sort()).toEqual(['inputs.json', 'list.csv', 'template.txt']);
    const request = JSON.parse(readFileSync(path.join(result.folder, 'evidence', 'request.json'), 'utf8')) as object;
    expect(request).toMatchObject({ run_id: result.runId, published: { name: 'echo', version: '1.0.0', digest } });
    expect(await verdictOf(result.folder)).toMatchObject({ outcome: 'valid' });
    expect(() => execFileSync('grep', ['-r', 'grace', result.folder])).toThrow();
    expect(readRecord(world.home, result.runId)?.ordered.by).toBe('grace@example.org');
    expect(readdirSync(path.join(world.home, 'server', 'script-runs', result.runId))).toEqual(['journal.ndjson']);
  });

  test('shows its user the result and the files, but no logs, streams or paths', async () => {
    const world = new PublishWorld();
    world.file(
      'run.sh',
      'echo private-stdout; echo private-stderr >&2; mkdir -p output; echo 1 > output/a.csv; echo "<script>" > output/page.html\n' +
        'printf \'{"contract_version":1,"status":"failed","html_output":"","error_summary":"The list is empty.","artifacts":[]}\' > result.json\n',
    );
    await publishScript('tool', { cwd: world.cwd });
    const { runId, correlationId } = await runPublished({ name: 'echo', cwd: world.cwd, by: 'ada' });
    const view = publishedRunView(world.cwd, runId);
    expect(view).toMatchObject({
      run_id: runId,
      state: 'failed',
      error_summary: 'The list is empty.',
      correlation_id: correlationId,
      files: [
        { path: 'a.csv', name: 'a.csv', bytes: 2, media_type: 'text/csv; charset=utf-8', state: 'offered' },
        { path: 'page.html', media_type: 'application/octet-stream', state: 'offered' },
      ],
    });
    expect(JSON.stringify(view)).not.toMatch(/private|proctor-publish|stdout/);
    expect(new ScriptRunList(path.join(world.cwd, '.proctor')).page({ by: 'ada', limit: 10 }).rows).toMatchObject([
      { run_id: runId, state: 'failed' },
    ]);
    expect(new ScriptRunList(path.join(world.cwd, '.proctor')).page({ by: 'bob', limit: 10 }).rows).toEqual([]);
    expect(SCRIPT_RUN_STATES).toContain(view.state);
  });

  test('is refused with one message per field, and leaves nothing', async () => {
    const world = new PublishWorld();
    world.script({ inputs: [{ kind: 'number', name: 'count', label: 'Count', required: true }] });
    await publishScript('tool', { cwd: world.cwd });
    const order = { name: 'echo', values: { count: 'many', extra: 1 }, cwd: world.cwd };
    expect(await faultOf(() => runPublished(order))).toBe(
      'bad_inputs: The inputs do not fit the script. extra: This input does not exist. count: This input must be a number.',
    );
    expect(existsSync(path.join(world.home, 'server', 'script-runs'))).toBe(false);
  });

  test.each([
    ['changed', 'run.sh', (file: string) => writeFileSync(file, 'echo stolen\n')],
    ['removed', 'script.yaml', (file: string) => rmSync(file)],
    ['added', 'extra.sh', (file: string) => writeFileSync(file, '')],
  ])('is refused by name if a stored file was %s', async (_, name, spoil) => {
    const world = new PublishWorld();
    await publishScript('tool', { cwd: world.cwd });
    spoil(path.join(world.home, 'server', 'scripts', 'echo', '1.0.0', 'files', name));
    const said = await faultOf(() => runPublished({ name: 'echo', cwd: world.cwd }));
    expect(said).toMatch(/^version_changed: echo 1\.0\.0 cannot run: its stored file /);
    expect(said).toContain(name);
  });

  test('that waits is refused once its version is withdrawn, and its user sees why', async () => {
    const world = new PublishWorld();
    await publishScript('tool', { cwd: world.cwd });
    const { runId } = stagePublished({ name: 'echo', cwd: world.cwd });
    expect(publishedRunView(world.cwd, runId, { position: 2 })).toMatchObject({ state: 'waiting', position: 2 });
    await withdrawVersion('echo', '1.0.0', { cwd: world.cwd });
    expect(await faultOf(() => runStaged(world.cwd, runId))).toMatch(/^withdrawn: /);
    expect(publishedRunView(world.cwd, runId)).toMatchObject({
      state: 'failed',
      error_summary: 'echo 1.0.0 was withdrawn. Publish a new version.',
    });
    expect(existsSync(path.join(world.home, 'server', 'script-runs', runId, 'input'))).toBe(false);
  });

  test('that has started goes on if its version is withdrawn', async () => {
    const world = new PublishWorld();
    world.file(
      'run.sh',
      `until [ -e input/word.txt ]; do sleep 0.1; [ -e output/x ] && break; mkdir -p output; echo > output/x; done\n${WRITES}`,
    );
    await publishScript('tool', { cwd: world.cwd });
    const { runId } = stagePublished({ name: 'echo', cwd: world.cwd });
    let withdrawal: Promise<unknown> = Promise.resolve();
    const result = await runStaged(world.cwd, runId, {
      onFolder: () => {
        expect(publishedRunView(world.cwd, runId)).toMatchObject({ state: 'running', html_output: null });
        withdrawal = withdrawVersion('echo', '1.0.0', { cwd: world.cwd });
      },
    });
    await withdrawal;
    expect(result.status).toBe('succeeded');
  });

  test('that is stopped says so', async () => {
    const world = new PublishWorld();
    world.file('run.sh', 'echo ready; sleep 60\n');
    await publishScript('tool', { cwd: world.cwd });
    const { runId } = stagePublished({ name: 'echo', cwd: world.cwd });
    const stop = new AbortController();
    await runStaged(world.cwd, runId, { signal: stop.signal, onOutput: () => stop.abort() });
    expect(publishedRunView(world.cwd, runId)).toMatchObject({ state: 'stopped' });
  });

  test('in a copied record is not started, because only this user may order runs', async () => {
    const world = new PublishWorld();
    await publishScript('tool', { cwd: world.cwd });
    const { runId } = stagePublished({ name: 'echo', cwd: world.cwd });
    const other = runId.replace(/.{12}$/, '0123456789ab');
    const runs = path.join(world.home, 'server', 'script-runs');
    execFileSync('cp', ['-r', path.join(runs, runId), path.join(runs, other)]);
    expect(await faultOf(() => runStaged(world.cwd, other))).toBe('no_run: There is no such run.');
  });
});

const WRITES = `printf '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json\n`;

describe('downloads', () => {
  async function finished(shell: string) {
    const world = new PublishWorld();
    world.file('run.sh', `mkdir -p output\n${shell}\n${WRITES}`);
    await publishScript('tool', { cwd: world.cwd });
    const result = await runPublished({ name: 'echo', cwd: world.cwd });
    return { world, result, runId: result.runId };
  }

  test('are attachments that no browser shows', async () => {
    const { world, runId, result } = await finished("echo '<script>alert(1)</script>' > 'output/Größe 50%.html'");
    const { headers, stream } = await downloadOutput(world.cwd, runId, 'Größe 50%.html');
    expect(headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="Gr__e 50_.html"; filename*=UTF-8''Gr%C3%B6%C3%9Fe%2050%25.html`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
    });
    const bytes = await bytesOf(stream);
    expect(String(bytes.length)).toBe(headers['content-length']);
    for (const file of ['../result.json', 'nothing', '../evidence/internal/log.ndjson', ''])
      expect(await faultOf(() => downloadOutput(world.cwd, runId, file))).toMatch(/^no_output: /);
    writeFileSync(path.join(result.folder, 'output', 'Größe 50%.html'), 'changed');
    expect(await faultOf(() => downloadOutput(world.cwd, runId, 'Größe 50%.html'))).toBe(
      'output_gone: Größe 50%.html is no longer there as the run left it.',
    );
  });

  test('name the changed file that keeps an archive from being sent', async () => {
    const { world, result, runId } = await finished(
      'mkdir output/sub; printf one > output/a; printf two > output/sub/b',
    );
    const changed = path.join(result.folder, 'output', 'sub', 'b');
    // As long as before, so that only its bytes tell.
    writeFileSync(changed, 'TWO');
    const gone = 'output_gone: sub/b is no longer there as the run left it.';
    expect(await faultOf(() => downloadArchive(world.cwd, runId))).toBe(gone);
    rmSync(changed);
    expect(await faultOf(() => downloadArchive(world.cwd, runId))).toBe(gone);
  });

  test('break off an archive whose file changes while it is sent', async () => {
    const { world, result, runId } = await finished('printf one > output/a; printf two > output/b');
    const { headers, stream } = await downloadArchive(world.cwd, runId);
    writeFileSync(path.join(result.folder, 'output', 'b'), 'TWO');
    const sent: Uint8Array[] = [];
    const reading = async (): Promise<void> => {
      for await (const piece of stream) sent.push(piece);
    };
    await expect(reading()).rejects.toThrow('A file changed while it was archived.');
    expect(Buffer.concat(sent).length).toBeLessThan(Number(headers['content-length']));
  });

  test('as one archive are the same bytes every time, and other programs can read them', async () => {
    const { world, runId } = await finished(
      'mkdir output/sub; printf one > output/a.txt; printf two > output/sub/ü.txt; : > output/empty',
    );
    const [first, second] = await Promise.all(
      [1, 2].map(async () => {
        const { headers, stream } = await downloadArchive(world.cwd, runId);
        const bytes = await bytesOf(stream);
        expect(headers['content-length']).toBe(String(bytes.length));
        return bytes;
      }),
    );
    expect(first).toEqual(second);
    const file = path.join(world.cwd, 'all.zip');
    writeFileSync(file, first as Buffer);
    mkdirSync(path.join(world.cwd, 'out'));
    const python =
      'import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2])';
    execFileSync('python3', ['-c', python, file, path.join(world.cwd, 'out')]);
    expect(readFileSync(path.join(world.cwd, 'out', 'a.txt'), 'utf8')).toBe('one');
    expect(readFileSync(path.join(world.cwd, 'out', 'sub', 'ü.txt'), 'utf8')).toBe('two');
    expect(readFileSync(path.join(world.cwd, 'out', 'empty'), 'utf8')).toBe('');
  });
});

describe('the scan command', () => {
  test('offers what it accepts, and withholds what it rejects, cannot judge or takes too long for', async () => {
    const world = new PublishWorld();
    world.file(
      'run.sh',
      `mkdir -p output; for name in clean virus broken slow; do echo $name > output/$name.txt; done\n${WRITES}`,
    );
    const scanner = path.join(world.cwd, 'scan.sh');
    writeFileSync(
      scanner,
      '#!/bin/sh\ncase $(cat "$2") in clean) exit 0;; virus) echo "Eicar FOUND"; exit 1;; slow) sleep 60;; *) exit 2;; esac\n',
      { mode: 0o755 },
    );
    scanWith({ command: [scanner, '--quiet', '{file}'], timeout: '1s' });
    await publishScript('tool', { cwd: world.cwd });
    const warnings: string[] = [];
    const { runId } = await runPublished({ name: 'echo', cwd: world.cwd }, { onWarning: text => warnings.push(text) });
    const { files } = publishedRunView(world.cwd, runId);
    expect(files.map(({ name, state, withheld_because: why }) => [name, state, why])).toEqual([
      ['broken.txt', 'withheld', 'not_checked'],
      ['clean.txt', 'offered', null],
      ['slow.txt', 'withheld', 'not_checked'],
      ['virus.txt', 'withheld', 'rejected'],
    ]);
    expect(readRecord(world.home, runId)?.scanned?.files.map(({ why }) => why)).toEqual([
      'The scan command exited with 2.',
      null,
      'The scan command took too long.',
      'The scan command exited with 1: Eicar FOUND',
    ]);
    expect(warnings).toHaveLength(2);
    expect(await faultOf(() => downloadOutput(world.cwd, runId, 'virus.txt'))).toMatch(/^no_output: /);
    const { stream } = await downloadArchive(world.cwd, runId);
    expect((await bytesOf(stream)).includes('virus')).toBe(false);
    // Without the command, a file that was withheld stays withheld.
    rmSync(SCAN_FILE);
    expect(publishedRunView(world.cwd, runId).files[3]?.state).toBe('withheld');
  });

  test('that cannot be started withholds everything', async () => {
    const world = new PublishWorld();
    world.file('run.sh', `mkdir -p output; echo > output/a.txt\n${WRITES}`);
    scanWith({ command: ['no-such-scanner', '{file}'] });
    await publishScript('tool', { cwd: world.cwd });
    const { runId } = await runPublished({ name: 'echo', cwd: world.cwd });
    expect(publishedRunView(world.cwd, runId).files[0]?.state).toBe('withheld');
  });

  test('must name the file', async () => {
    const world = new PublishWorld();
    scanWith({ command: ['clamscan'] });
    await publishScript('tool', { cwd: world.cwd });
    expect(await faultOf(() => runPublished({ name: 'echo', cwd: world.cwd }))).toMatch(/^bad_settings: command /);
  });

  test('comes from the state folder, because a checkout can contain any settings.json', async () => {
    const world = new PublishWorld();
    world.settings({ scan: ['touch', 'attacked', '{file}'] });
    expect(
      await faultOf(() =>
        publishScript('tool', { cwd: world.cwd }).then(() => runPublished({ name: 'echo', cwd: world.cwd })),
      ),
    ).toMatch(/^bad_settings: settings\.json has an unknown key: "scan"/);
  });

  test('is refused if other users could have written it', async () => {
    const world = new PublishWorld();
    scanWith({ command: ['true', '{file}'] });
    chmodSync(SCAN_FILE, 0o666);
    await publishScript('tool', { cwd: world.cwd });
    expect(await faultOf(() => runPublished({ name: 'echo', cwd: world.cwd }))).toMatch(
      /^bad_settings: scan\.json must belong/,
    );
  });
});

const SCAN_FILE = path.join(stateFolder(), 'scan.json');

/** The operator's scan command, until the test ends. */
function scanWith(settings: object): void {
  mkdirSync(stateFolder(), { recursive: true, mode: 0o700 });
  writeFileSync(SCAN_FILE, JSON.stringify(settings), { mode: 0o600 });
  onTestFinished(() => rmSync(SCAN_FILE, { force: true }));
}
