import { describe, expect, test } from 'vitest';
import type { AgentReading } from '../../../src/contracts/agent-step/reading.ts';
import { agentOutcome } from '../../../src/contracts/agent-step/index.ts';
import { check } from '../../../src/contracts/check.ts';
import { type TerminationFacts, terminationOf } from '../../../src/run/agent/termination.ts';

const READING: AgentReading = {
  terminal: { ok: true, word: 'completed' },
  finalText: 'Done.',
  failure: null,
  denials: [],
  denialCount: 0,
  usage: { turns: 1, input_tokens: 1, cached_input_tokens: 0, output_tokens: 1, cost_usd: 0 },
  session: null,
  model: null,
  lines: { total: 4, unknown: 0, broken: 0, oversized: 0 },
};

const FACTS: TerminationFacts = {
  ending: { how: 'exited', code: 0 },
  survivors: 0,
  stoppedFor: undefined,
  reading: READING,
  approval: 'deny_interactive',
  breaches: [],
  tooMuch: null,
  difference: null,
  lastAsk: null,
};

const BREACH = { class: 'forbidden_path', message: 'x was changed.', path: 'x', hard: true } as const;
const LATE = { reason: 'stalled', detail: 'It stayed.', hadFinished: true } as const;
const ASKED = { reason: 'prompt_detected', detail: 'It asked.' } as const;
const killed = (by: 'timeout' | 'idle' | 'cpu' | 'cancel' | 'policy') =>
  ({ how: 'killed', by, signal: 'SIGTERM' }) as const;
const failure = (
  reason: 'api_error' | 'auth_missing' | 'limit_turns' | 'schema_missing',
  status: number | null = null,
) => ({ failure: { reason, status, detail: 'It says so.' } }) as const;
const asked = (status: number) => ({ status, isWhole: true, says: null }) as const;
const reading = (parts: Partial<AgentReading>): Pick<TerminationFacts, 'reading'> => ({
  reading: { ...READING, ...parts },
});

describe('the expected ending is recorded for a step', () => {
  test.each<[string, Partial<TerminationFacts>, string]>([
    ['that succeeded', {}, 'completed ok'],
    ['that kept running after its last line, and exited before it was stopped', { stoppedFor: LATE }, 'completed ok'],
    [
      'that kept running after its last line, and was stopped',
      { stoppedFor: LATE, ending: killed('idle') },
      'completed ok',
    ],
    [
      'that kept running after a last line that does not report success',
      { stoppedFor: LATE, ending: killed('idle'), ...reading({ terminal: { ok: false, word: 'aborted' } }) },
      'killed_idle stalled',
    ],
    [
      'that kept running after its last line, and changed a forbidden path',
      { stoppedFor: LATE, ending: killed('idle'), breaches: [BREACH] },
      'killed_policy forbidden_path',
    ],
    ['that reports success only when it is stopped', { ending: killed('idle') }, 'killed_idle stalled'],
    ['with an exit code', { ending: { how: 'exited', code: 1 } }, 'error exit_nonzero'],
    ['without its last line', reading({ terminal: null }), 'error incomplete_stream'],
    [
      'whose last line does not report success',
      reading({ terminal: { ok: false, word: 'aborted' } }),
      'error protocol_error',
    ],
    ['with an empty last message', reading({ finalText: '\n' }), 'error incomplete_stream'],
    ['without a last message', reading({ finalText: null }), 'error incomplete_stream'],
    ['whose model API failed, with exit code 0', reading(failure('api_error', 529)), 'error api_error 529'],
    ['that reports a status above 599', reading(failure('api_error', 999)), 'error api_error'],
    ['that reports a status that is no whole number', reading(failure('api_error', 500.5)), 'error api_error'],
    ['that reports a status without an error of the API', reading(failure('limit_turns', 500)), 'error limit_turns'],
    [
      'whose model API failed, with exit code 1',
      { ...reading(failure('auth_missing')), ending: { how: 'exited', code: 1 } },
      'error auth_missing',
    ],
    [
      'that had too many turns',
      { ...reading(failure('limit_turns')), ending: { how: 'exited', code: 1 } },
      'error limit_turns',
    ],
    ['whose schema was not met, with exit code 0', reading(failure('schema_missing')), 'error schema_missing'],
    ['with a denial that is only recorded', reading({ denialCount: 1 }), 'completed ok'],
    [
      'with a denial that must end it',
      { ...reading({ denialCount: 1 }), approval: 'fail_on_prompt' },
      'killed_policy denied_tool',
    ],
    [
      'that was stopped at a denial',
      { ending: killed('policy'), stoppedFor: { reason: 'denied_tool', detail: 'x' } },
      'killed_policy denied_tool',
    ],
    [
      'that asked, although it must not',
      { ending: killed('policy'), stoppedFor: ASKED, approval: 'fail_on_prompt' },
      'killed_policy prompt_detected',
    ],
    ['that asked, if questions are denied', { ending: killed('policy'), stoppedFor: ASKED }, 'error prompt_detected'],
    ['that asked, and ended before Proctor could stop it', { stoppedFor: ASKED }, 'error prompt_detected'],
    [
      'that exceeded its output limit',
      { ending: killed('policy'), stoppedFor: { reason: 'limit_output', detail: 'x' } },
      'error limit_output',
    ],
    ['that ran out of time', { ending: killed('timeout') }, 'killed_timeout wall_clock'],
    ['that ran out of CPU time', { ending: killed('cpu') }, 'killed_timeout wall_clock'],
    ['that made no progress', { ending: killed('idle') }, 'killed_idle stalled'],
    ['that was cancelled', { ending: killed('cancel') }, 'error cancelled'],
    ['that ran out of memory', { ending: { how: 'out_of_memory', code: 137 } }, 'error out_of_memory'],
    ['that never started', { ending: { how: 'not_started', code: 127 } }, 'error spawn_failed'],
    ['that was ended by a signal', { ending: { how: 'signalled', signal: 'SIGSEGV' } }, 'error signal'],
    ['that was lost', { ending: { how: 'lost' } }, 'error interrupted'],
    ['that left a process running', { survivors: 1 }, 'error orphan_left'],
    ['that changed a forbidden path, with exit code 0', { breaches: [BREACH] }, 'killed_policy forbidden_path'],
    [
      'that changed a forbidden path, and ran out of time',
      { breaches: [BREACH], ending: killed('timeout') },
      'killed_policy forbidden_path',
    ],
    ['with a soft violation', { breaches: [{ ...BREACH, hard: false }] }, 'completed ok'],
    ['that changed too much', { tooMuch: 'Too much.' }, 'error limit_output'],
    ['whose model refused the last request, with exit code 0', { lastAsk: asked(401) }, 'error auth_missing 401'],
    ['whose model forbade the last request, with exit code 0', { lastAsk: asked(403) }, 'error auth_missing 403'],
    ['whose model failed the last request, with exit code 0', { lastAsk: asked(500) }, 'error api_error 500'],
    [
      'whose model failed the last request, and that does not report the status',
      { ...reading(failure('api_error')), lastAsk: asked(429) },
      'error api_error 429',
    ],
    [
      'whose model is unreachable, and that reports the proxy error as a model error',
      { ...reading(failure('api_error', 502)), lastAsk: { status: null, isWhole: false, says: 'Refused.' } },
      'error api_error',
    ],
    [
      'whose last answer was cut off, with exit code 0',
      { lastAsk: { ...asked(200), isWhole: false } },
      'error api_error',
    ],
    [
      'whose last request the proxy refused, with exit code 0',
      { lastAsk: { ...asked(200), status: null } },
      'error api_error',
    ],
    [
      'that failed with an empty message',
      reading({ failure: { reason: 'api_error', status: null, detail: '' } }),
      'error api_error',
    ],
    [
      'that failed with a blank message',
      reading({ failure: { reason: 'protocol_error', status: null, detail: ' \n' } }),
      'error protocol_error',
    ],
    ['whose last answer was good', { lastAsk: asked(200) }, 'completed ok'],
    [
      'that failed after a good answer',
      { ...reading(failure('api_error', 500)), lastAsk: asked(200) },
      'error api_error 500',
    ],
    [
      'that stopped at its own limit during an answer',
      { ...reading(failure('limit_turns')), lastAsk: { ...asked(200), isWhole: false } },
      'error limit_turns',
    ],
    [
      'that used up its budget, and ended before Proctor could stop it',
      { stoppedFor: { reason: 'limit_budget', detail: 'x' }, lastAsk: { ...asked(200), status: null } },
      'error limit_budget',
    ],
    ['that sent a request that is not recorded', { difference: 'request 2 differs' }, 'error protocol_error'],
  ])('%s', (_, facts, expected) => {
    const { termination, reason, apiStatus, detail } = terminationOf({ ...FACTS, ...facts });
    expect([termination, reason, ...(apiStatus === null ? [] : [apiStatus])].join(' ')).toBe(expected);
    const survivors = facts.survivors ?? 0;
    const outcome = {
      ...(agentOutcome.example as object),
      termination,
      reason,
      detail,
      api_status: apiStatus,
      survivors,
    };
    expect(check(agentOutcome, outcome, { strict: true, internal: false }).violations).toEqual([]);
  });
});
