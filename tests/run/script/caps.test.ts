import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openLauncher } from '../../../src/execute/launcher/launch.ts';
import { executeScript } from '../../../src/run/script/script.ts';
import { expectValid } from '../../evidence/script/script-world.ts';
import { temporaryFolder } from '../../support/support.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());

const read = (folder: string, file: string): string => readFileSync(path.join(folder, file), 'utf8');

describe('the stored output of a script', () => {
  test('respects the caps, and every cut states the full size', async () => {
    const cwd = temporaryFolder();
    const script = path.join(cwd, 'talks.py');
    writeFileSync(
      script,
      `import json, sys
print('ä' * 5000, end='')
print('e' * 1500, end='', file=sys.stderr)
json.dump({'contract_version': 1, 'status': 'failed', 'html_output': 'h' * 50, 'error_summary': 's' * 300, 'artifacts': []}, open('result.json', 'w'))
`,
    );
    const caps = { stdoutBytes: 1_001, stderrBytes: 1_000, htmlBytes: 20, summaryBytes: 100 };
    const { place } = await executeScript(
      { script, caps },
      { launcher, home: path.join(cwd, '.proctor'), signer: undefined },
    );
    await expectValid(place.folder);
    const { cuts } = JSON.parse(read(place.folder, 'evidence/outcome.json')) as { cuts: object[] };
    expect(cuts).toEqual([
      { what: 'stdout', bytes_total: 10_000, bytes_kept: 1_000 },
      { what: 'stderr', bytes_total: 1_500, bytes_kept: 1_000 },
      { what: 'html_output', bytes_total: 50, bytes_kept: 20 },
      { what: 'error_summary', bytes_total: 300, bytes_kept: 100 },
    ]);
    expect(read(place.folder, 'evidence/steps/script/stdout.txt')).toMatch(/^ä+\n\[9000 bytes are missing here\]\nä+$/);
  });

  test('flags files that contain a declared secret, and keeps them unchanged', async () => {
    const cwd = temporaryFolder();
    const script = path.join(cwd, 'tells.sh');
    writeFileSync(
      script,
      'echo "token $TOKEN" > output/told.txt; echo fine > output/fine.txt; printf %s "$TOKEN" | base64 > output/coded.txt\n',
    );
    const secrets = { TOKEN: 'correct horse battery' };
    const { place, reading } = await executeScript(
      { script, secrets },
      { launcher, home: path.join(cwd, '.proctor'), signer: undefined },
    );
    await expectValid(place.folder);
    expect(read(place.folder, 'output/told.txt')).toBe('token correct horse battery\n');
    const warning = 'secret_in_file: a declared secret was found in 2 files';
    expect(reading.warnings).toEqual([warning]);
    expect(read(place.folder, 'evidence/runner.json')).toContain(warning);
    expect(JSON.parse(read(place.folder, 'evidence/outcome.json')).masking.flagged).toEqual([
      { path: 'output/coded.txt', code: 'secret_in_file', kinds: ['declared_secret'] },
      { path: 'output/told.txt', code: 'secret_in_file', kinds: ['declared_secret'] },
    ]);
    expect(read(place.folder, 'evidence/internal/log.ndjson')).toMatch(
      /secret_in_file.*Review output\/coded\.txt.*\n.*Review output\/told\.txt/,
    );
  });
});
