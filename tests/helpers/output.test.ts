import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { artifactPathFault } from '../../src/contracts/script-result/index.ts';
import { inNode, inPython, workFolder } from './tools.ts';

describe.each([
  {
    language: 'python',
    run: inPython,
    writes: (name: string, text: string) =>
      `target = os.path.join(output_dir, ${JSON.stringify(name)})
os.makedirs(os.path.dirname(target), exist_ok=True)
with open(target, 'w', encoding='utf-8') as file: file.write(${JSON.stringify(text)})
`,
    links: (target: string, name: string) => `os.symlink(${JSON.stringify(target)}, output_dir + '/${name}')\n`,
    reads: "return open(input_dir + '/data.csv').read()",
    lists: "return ' '.join(os.listdir(input_dir))",
    missing: 'FileNotFoundError',
  },
  {
    language: 'node',
    run: inNode,
    writes: (name: string, text: string) => `{
  const target = \`\${outputDir}/\${${JSON.stringify(name)}}\`;
  fs.mkdirSync(target.slice(0, target.lastIndexOf('/')), { recursive: true });
  fs.writeFileSync(target, ${JSON.stringify(text)});
}
`,
    links: (target: string, name: string) => `fs.symlinkSync(${JSON.stringify(target)}, \`\${outputDir}/${name}\`);\n`,
    reads: "return fs.readFileSync(inputDir + '/data.csv', 'utf8');",
    lists: "return fs.readdirSync(inputDir).join(' ');",
    missing: 'Error',
  },
])('a tool in $language', ({ run, writes, links, reads, lists, missing }) => {
  test('finds its inputs, and has its files listed by name and size', async () => {
    const work = workFolder({ 'data.csv': 'a,b\n' });
    const files = writes('z.txt', 'xyz') + writes('a/b.txt', '') + writes('A.txt', 'é');
    const { code, result } = await run(files + reads, work);
    expect(result).toMatchObject({ status: 'succeeded', html_output: 'a,b\n' });
    expect(result.artifacts).toEqual([
      { path: 'output/A.txt', bytes: 2 },
      { path: 'output/a/b.txt', bytes: 0 },
      { path: 'output/z.txt', bytes: 3 },
    ]);
    expect(code).toBe(0);
  });

  test('keeps its files if it fails', async () => {
    const { code, result } = await run(`${writes('half.txt', 'x')}${lists.replace('input', 'missing')}`);
    expect(result).toMatchObject({ status: 'failed', artifacts: [{ path: 'output/half.txt', bytes: 1 }] });
    expect(code).toBe(1);
  });

  test('can leave links, which the helper does not follow', async () => {
    const { result } = await run(
      links('/etc', 'folder') + links('/etc/passwd', 'file') + links('nowhere', 'lost') + writes('real.txt', 'x'),
    );
    expect(result.artifacts).toEqual([{ path: 'output/real.txt', bytes: 1 }]);
  });

  test('gets no files listed if its output folder is a link', async () => {
    const work = workFolder({ 'secret.txt': 'x' });
    symlinkSync('input', path.join(work, 'output'));
    const { result } = await run(lists, work);
    expect(result).toMatchObject({ status: 'succeeded', html_output: 'secret.txt', artifacts: [] });
  });

  test('fails if its output folder is a file', async () => {
    const work = workFolder();
    writeFileSync(path.join(work, 'output'), '');
    expect((await run(lists, work)).result).toMatchObject({ status: 'failed', artifacts: [] });
  });

  test("can name files in any language, and has them listed in Proctor's sort order", async () => {
    const names = ['日本語.txt', 'ärger.txt', '\u{1f600}.txt', '\uff21.txt', 'a b.txt', '.hidden', '-x', "it's.txt"];
    const { result } = await run(names.map(name => writes(name, 'x')).join(''));
    expect(result.artifacts.map(artifact => artifact.path)).toEqual(names.map(name => `output/${name}`).sort());
  });

  test('leaves a valid result without the names that the contract refuses', async () => {
    const deep = (folders: number) => `${'d/'.repeat(folders)}x`;
    const names = [
      ...[
        'a:b',
        'a\\b',
        'a*',
        'a?',
        'a"',
        'a<',
        'a>',
        'a|',
        ' a',
        'a ',
        'a.',
        'b./c',
        'b /c',
        ' b/c',
        '...',
        'con',
        'AUX.txt',
      ],
      ...[
        'com1',
        'Lpt9.x',
        'nul/x',
        'a\nb',
        'a\tb',
        'a\u007fb',
        'a\u0085b',
        'a\u00adb',
        'a\u200bb',
        'a\u202eb',
        'a\ufeffb',
      ],
      ...['a\u2028b', 'a\u{e0041}b', 'a\u061cb', 'a\u180eb', 'a\u2066b', 'a\ufff9b', deep(14), deep(15)],
      ...['console.txt', 'com', 'com10', 'auxiliary', 'a.b', '~', '~x', 'K\u212a.txt', 'x'.repeat(255), '\ufffd'],
      ...[`${'y'.repeat(250)}/`.repeat(3) + 'z'.repeat(250), `${'y'.repeat(250)}/`.repeat(4) + 'z'],
      ...[`${'y'.repeat(250)}/`.repeat(4) + 'z'.repeat(20)],
    ];
    const { result, stderr } = await run(names.map(name => writes(name, '')).join(''));
    const fit = names.map(name => `output/${name}`).filter(name => !artifactPathFault(name));
    expect(result.artifacts.map(artifact => artifact.path)).toEqual(fit.sort());
    expect(stderr).toContain(`whose names are not portable: ${names.length - fit.length}\n`);
  });

  test('gets the first files listed if there are too many', async () => {
    const work = workFolder();
    mkdirSync(path.join(work, 'output'));
    const names = Array.from({ length: 2_100 }, (_, index) => `${String(index).padStart(4, '0')}.txt`);
    for (const name of names) writeFileSync(path.join(work, 'output', name), '');
    const { result, stderr } = await run(lists, work);
    expect(result.artifacts.map(artifact => artifact.path)).toEqual(
      names.slice(0, 2_000).map(name => `output/${name}`),
    );
    expect(stderr).toContain('lists 2000 of 2100 files');
  });

  test('stays below the size limit with long names and HTML that JSON escapes', async () => {
    const work = workFolder({ 'data.csv': `${'\u0001'.repeat(100_000)}${'"'.repeat(400_000)}` });
    mkdirSync(path.join(work, 'output'));
    for (let index = 0; index < 1_999; index++)
      writeFileSync(path.join(work, 'output', `${'n'.repeat(240)}${index}`), '');
    const { code, result, bytes } = await run(reads, work);
    expect(code).toBe(0);
    expect(bytes.length).toBeGreaterThan(1_000_000);
    expect(result.artifacts.length).toBeGreaterThan(1_000);
  });

  test('succeeds without an input folder unless it needs one', async () => {
    const [with_, without] = [workFolder(), workFolder()];
    for (const work of [with_, without]) rmSync(path.join(work, 'input'), { recursive: true });
    expect((await run(writes('x', ''), with_)).result.status).toBe('succeeded');
    expect((await run(lists, without)).result).toMatchObject({
      status: 'failed',
      error_summary: `The tool failed (${missing}).`,
    });
  });

  test('replaces an existing result, and replaces a link without following it', async () => {
    const work = workFolder({ 'kept.txt': 'kept' });
    symlinkSync('input/kept.txt', path.join(work, 'result.json'));
    const { result } = await run(lists, work);
    expect(result).toMatchObject({ status: 'succeeded', html_output: 'kept.txt' });
    expect(readFileSync(path.join(work, 'input', 'kept.txt'), 'utf8')).toBe('kept');
  });
});
