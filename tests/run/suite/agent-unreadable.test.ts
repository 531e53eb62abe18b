/** What an agent prints must not stop the other cases. */
import { expect, test } from 'vitest';
import { Fault } from '../../../src/base/fault.ts';
import type { SuiteCase } from '../../../src/contracts/suite/index.ts';
import { agentTarget } from '../../../src/run/suite/agent-target.ts';
import { DEFAULT_SETTINGS } from '../../../src/run/suite/settings.ts';
import { sharedLauncher } from '../../../src/verbs/launcher.ts';
import { repositoryFolder } from '../../../stand-ins/place.ts';
import { temporaryFolder } from '../../support/support.ts';
import { asked, environment, placeAgents, verdictsIn } from './agent-world.ts';
import { expectValid, ranSuite } from './support.ts';

placeAgents();

test('an agent that fails with an empty message makes its case an error, and the others go on', async () => {
  const blank = { type: 'result', subtype: 'error_during_execution', is_error: true, result: '' };
  const dir = repositoryFolder({ 'lines.txt': `${JSON.stringify(blank)}\n` });
  const cases = [asked('blank', 'DO=print_file DO=crash:1'), asked('fine', 'DO=tested')];
  const ran = await ranSuite(cases, { agent: 'claude', dir, environment, timeoutMs: 60_000 });
  expect(verdictsIn(ran)).toEqual({ blank: 'error | schema_mismatch', fine: 'pass' });
  expect(ran.artifact('blank').agent_run).toMatchObject({ termination: 'error', reason: 'protocol_error' });
  await expectValid(ran.folder);
});

test('a run that cannot be read makes its case an error', async () => {
  const home = temporaryFolder();
  const target = agentTarget({
    order: { agent: 'claude', dir: repositoryFolder(), policy: 'read-only', environment, cwd: home },
    casesDir: home,
    recordings: undefined,
    repetition: 1,
    side: 'new',
    launcher: sharedLauncher,
    home,
    signer: undefined,
    settings: DEFAULT_SETTINGS,
    claimsIn: () => Promise.reject(new Fault('unreadable_run', 'Its files cannot be read.')),
  });
  const one = { schema_version: 'suite-case.v1', ...asked('one', 'DO=tested') } as SuiteCase;
  const { signal } = new AbortController();
  const { agentRun, outcome } = await target.ask({ one, key: 'r1/one/1', attempt: 1, signal });
  expect(agentRun).toBeUndefined();
  expect(outcome).toMatchObject({ ok: false, errorName: 'UNREADABLE_RUN', message: 'Its files cannot be read.' });
});
