import { expect, test } from 'vitest';
import { recognise } from '../../src/verify/recognise.ts';

/** As written by the evaluator of agent-qa-toolkit. */
const compareReport = {
  contract_version: 5,
  report_id: 'r-1',
  meta: { generated_at: 1 },
  baseline_dir: 'runs/baseline/r-1',
  new_dir: 'runs/new/r-1',
  cases_path: 'cases/cases.json',
  summary: {},
  quality_flags: {},
  items: [],
};

test('does not recognise a report of another tool that has a contract_version', () => {
  expect(recognise(compareReport, 'compare-report.json')).toEqual({
    code: 'unknown_version',
    message: 'No known format has the contract_version of this document. Run proctor explain for a list of formats.',
  });
});

test.each([1, 2, 5, '1'])('recognises a script result with contract_version %j, known or not', version => {
  const result = {
    contract_version: version,
    status: 'succeeded',
    html_output: '',
    error_summary: null,
    artifacts: [],
  };
  expect(recognise(result, 'result.json')).toEqual({ name: 'script-result' });
  expect(recognise(result, 'copy.json')).toEqual({ name: 'script-result' });
});

test('recognises a document by a version field that only one format has', () => {
  expect(recognise({ runner_schema_version: '9.0.0' }, 'copy.json')).toEqual({ name: 'runner' });
  expect(recognise({ contract_version: 1 }, 'copy.json')).toEqual({ name: 'script-result' });
});
