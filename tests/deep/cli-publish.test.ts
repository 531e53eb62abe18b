import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { Place } from '../support/runs.ts';
import { ROOT } from '../support/support.ts';

function example(): Place {
  const place = new Place();
  cpSync(path.join(ROOT, 'examples', 'publish'), place.cwd, { recursive: true });
  return place;
}

describe('proctor publish', () => {
  test('does what docs/publish.md shows', () => {
    const place = example();
    const page = readFileSync(path.join(ROOT, 'docs', 'publish.md'), 'utf8');
    const [, block = ''] = /<!-- run by tests -->\n```sh\n([^]*?)```/.exec(page) ?? [];
    const printed = block
      .trim()
      .split('\n')
      .map(line => place.proctor(line.split(' ').slice(1)));
    expect(printed.map(({ code, stderr }) => ({ code, stderr }))).toEqual(printed.map(() => ({ code: 0, stderr: '' })));
    const [published, tried, verified] = printed.map(({ stdout }) => stdout);
    expect(published).toMatch(/^✓ published {2}clean-orders 1\.0\.0 {2}3 files, /);
    expect(tried).toMatch(
      /^✓ succeeded {2}clean-orders 1\.0\.0\n {2}output {4}1 file\n {2}evidence {2}\.proctor\/runs\/script\/script_/,
    );
    expect(verified).toMatch(/valid/);
  });

  test('gives the script typed inputs, and prints what a user would see', () => {
    const place = example();
    place.proctor(['publish', 'clean-orders']);
    const tried = ['publish', '--try', 'clean-orders', '--file', 'orders=orders.csv', '--json'];
    const { code, stdout } = place.proctor([...tried, '--set', 'least=100']);
    expect(code).toBe(0);
    const view = JSON.parse(stdout) as { html_output: string; files: object[] };
    expect(view.html_output).toContain('<tr><td>2026-01<td>120.50');
    expect(view.html_output).toContain('<p>4 orders are left out.</p>');
    expect(view.files).toMatchObject([{ name: 'orders.csv', media_type: 'text/csv; charset=utf-8', state: 'offered' }]);
    const refused = place.proctor([...tried, '--set', 'currency=SEK', '--set', 'least=-1']);
    expect(refused.code).toBe(2);
    expect(JSON.parse(refused.stdout)).toMatchObject({ error: { code: 'bad_inputs' } });
  });

  test('lists, withdraws and rolls back', () => {
    const place = example();
    place.proctor(['publish', 'clean-orders']);
    const yaml = path.join('clean-orders', 'script.yaml');
    place.file(yaml, readFileSync(path.join(place.cwd, yaml), 'utf8').replace('1.0.0', '1.1.0'));
    place.proctor(['publish', 'clean-orders']);
    expect(place.proctor(['publish', '--list']).stdout).toMatch(
      /^clean-orders {2}Clean an order list {2}offers 1\.1\.0\n {2}● 1\.1\.0 {2}published .* by local\n {4}1\.0\.0 {2}published/,
    );
    expect(place.proctor(['publish', '--rollback', 'clean-orders']).stdout).toMatch(/offers 1\.0\.0/);
    expect(place.proctor(['publish', '--withdraw', 'clean-orders@1.0.0']).stdout).toMatch(/not offered/);
    expect(place.proctor(['publish', '--withdraw', 'clean-orders']).stderr).toMatch(/Name the version/);
    expect(place.proctor(['publish']).stderr).toMatch(/Name a folder, or use one of/);
    expect(place.proctor(['publish', '--list', '--rollback', 'x']).code).toBe(2);
  });
});
