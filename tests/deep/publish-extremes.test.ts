import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { downloadArchive, downloadOutput } from '../../src/verbs/publish/published-downloads.ts';
import { publishedRunView } from '../../src/verbs/publish/published-view.ts';
import { publishScript } from '../../src/verbs/publish/publish.ts';
import { runPublished } from '../../src/verbs/publish/run-published.ts';
import { faultOf, PublishWorld } from '../publish/world.ts';

afterAll(closeLauncher);

describe('a hostile folder', () => {
  test('with 10,000 files is refused before it is read', async () => {
    const world = new PublishWorld();
    for (let index = 0; index < 10_000; index++) writeFileSync(path.join(world.folder, `f${index}`), '');
    expect(await faultOf(() => publishScript('tool', { cwd: world.cwd }))).toMatch(/more than 1,000 files/);
  });

  test('with more than 64 MiB is refused, and its copy is removed', async () => {
    const world = new PublishWorld();
    world.file('big', Buffer.alloc(64 * 1024 ** 2 + 1));
    expect(await faultOf(() => publishScript('tool', { cwd: world.cwd }))).toMatch(/larger than 64 MiB/);
    expect(readdirSync(path.join(world.home, 'server', 'scripts'))).toEqual([]);
  });

  test('with a sparse file of 1 TiB is refused before it is copied', async () => {
    const world = new PublishWorld();
    execFileSync('truncate', ['-s', '1T', path.join(world.folder, 'sparse')]);
    expect(await faultOf(() => publishScript('tool', { cwd: world.cwd }))).toMatch(/larger than 64 MiB/);
  });
});

describe('a hostile published script', () => {
  async function ran(shell: string, limits: object = {}) {
    const world = new PublishWorld();
    world.script({ limits });
    world.file('run.sh', `mkdir -p output\n${shell}\n${WRITES}`);
    await publishScript('tool', { cwd: world.cwd });
    const { runId, folder } = await runPublished({ name: 'echo', cwd: world.cwd });
    return { world, runId, folder, view: publishedRunView(world.cwd, runId) };
  }

  test('that leaves 10,000 files above its limit offers none of them', async () => {
    const { view } = await ran('i=0; while [ $i -lt 10000 ]; do : > output/$i; i=$((i+1)); done', { max_files: 100 });
    expect(view).toMatchObject({ state: 'failed', files: [] });
    expect(view.error_summary).not.toMatch(/\/|stdout/);
  });

  test('that leaves 3,000 files lists 1,000, counts the others, and offers all in the archive', async () => {
    const { view, world, runId } = await ran('i=0; while [ $i -lt 3000 ]; do echo $i > output/$i; i=$((i+1)); done', {
      max_files: 5000,
    });
    expect(view.files).toHaveLength(1_000);
    expect(view.files_omitted).toBe(2_000);
    const file = path.join(world.cwd, 'all.zip');
    writeFileSync(
      file,
      Buffer.from(await new Response((await downloadArchive(world.cwd, runId)).stream).arrayBuffer()),
    );
    const counts = 'import sys,zipfile; print(len(zipfile.ZipFile(sys.argv[1]).namelist()))';
    expect(execFileSync('python3', ['-c', counts, file], { encoding: 'utf8' })).toBe('3000\n');
  });

  test('that prints 1 GB and hostile progress is bounded', async () => {
    const { view, folder } = await ran('yes "PROGRESS 50% /etc/passwd" | head -c 1000000000', { timeout: '5m' });
    expect(view.state).toBe('succeeded');
    expect(existsSync(path.join(folder, 'evidence', 'steps', 'script', 'stdout.txt'))).toBe(true);
    const kept = execFileSync('du', ['-sb', folder], { encoding: 'utf8' });
    expect(Number.parseInt(kept, 10)).toBeLessThan(2_000_000);
  });

  test('with misleading file names is refused or made safe', async () => {
    const rtl = await ran('printf x > "output/$(printf \'gpj\\342\\200\\256exe.txt\')"');
    for (const { name } of rtl.view.files) expect(name).not.toMatch(/\u202e/);
    const odd = await ran("printf x > 'output/a\"b: x.html'");
    expect(odd.view).toMatchObject({ state: 'failed', files: [] });
    const { view, world, runId } = await ran("printf x > 'output/a;b%0d%0aSet-Cookie=x (1).html'");
    const [file] = view.files;
    if (!file) throw new Error('the file is not listed');
    const { headers } = await downloadOutput(world.cwd, runId, file.path);
    expect(headers['content-disposition']).toMatch(/^attachment; filename="[ -~]+"; filename\*=UTF-8''[\w%.-]+$/);
    expect(headers['content-type']).toBe('application/octet-stream');
  });
});

const WRITES = `printf '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json\n`;
