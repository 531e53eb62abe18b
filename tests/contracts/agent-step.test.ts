import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import * as agentStep from '../../src/contracts/agent-step/index.ts';
import { check, type Violation } from '../../src/contracts/check.ts';
import type { Contract } from '../../src/contracts/contract.ts';
import { exampleWith } from '../support/support.ts';
import { runCases } from './agent-run-cases.ts';
import { stepCases } from './agent-step-cases.ts';
import { titled } from './artifacts-words.ts';

const { agentResult, policySummary, stepManifest } = agentStep;
/** The outcome has separate rules. */
const contracts = Object.values(agentStep).filter(({ name }) => name !== 'agent-outcome');

describe.each([...stepCases, ...runCases])('$contract.name', ({ contract, rows }) => {
  test.each(titled(rows))('%s', (_, changes, broken, advice) => {
    const findings = judge(contract, exampleWith(contract, changes));
    expect(findings.violations.map(place)).toEqual(broken);
    expect(findings.advice.map(place)).toEqual(advice);
  });
});

describe.each(contracts)('the contract $name', contract => {
  test('has an example without violations or advice', () => {
    expect(judge(contract, contract.example)).toEqual({ violations: [], advice: [], omitted: 0 });
  });

  test.each(contract.rules)('has a document that breaks only $id', ({ id, breach }) => {
    const { violations, advice } = judge(contract, breach(structuredClone(contract.example) as never));
    expect([...new Set(violations.map(({ rule_id }) => rule_id))]).toEqual([id]);
    expect(advice).toEqual([]);
  });

  test('assigns every key to one rule', () => {
    const fields = contract.rules.flatMap(rule => rule.fields);
    expect(new Set(fields).size).toBe(fields.length);
    const heads = new Set(fields.map(field => field.replace(/[.[].*/, '')));
    expect([...heads].sort()).toEqual(keysOf(contract));
    // Every key has a shape, and `check` throws if no rule owns a fault.
    for (const [path, value] of leavesOf(contract.example)) {
      const wrong = exampleWith(contract, { [path]: typeof value === 'number' ? 'seven' : 7 });
      expect(judge(contract, wrong).violations, path).not.toEqual([]);
    }
  });

  test('names its version and the rule for unknown keys', () => {
    expect(contract.version).toEqual({ field: 'schema_version', value: `${contract.name}.v1` });
    expect(contract.rules.map(({ id }) => id)).toContain(contract.unknownKeys);
  });
});

describe('the invariants', () => {
  test('have the same title and reason in every document', () => {
    const words = new Map<string, string>();
    for (const { id, title, why } of contracts.flatMap(({ rules }) => rules)) {
      expect(words.get(id) ?? `${title}: ${why}`).toBe(`${title}: ${why}`);
      words.set(id, `${title}: ${why}`);
    }
    expect([...words.keys()].sort(byNumber)).toEqual(Array.from({ length: 16 }, (_, index) => `AG${index + 1}`));
  });

  test('are checked in time linear in the size of the document', () => {
    const deep = Array.from({ length: 20_000 }, () => 'a').join('/');
    const many = Array.from({ length: 20_000 }, (_, index) => `src/${index}`);
    const summary = exampleWith(policySummary, {
      'requested.allowed_paths': [deep, ...many],
      'effective.allowed_paths': [`${deep}/b`, ...many],
      'requested.forbidden_paths': many,
      'effective.forbidden_paths': ['src'],
    });
    expect(judge(policySummary, summary).violations).toEqual([]);
  }, 5_000);
});

describe('the claims', () => {
  test('of a manifest include the digest and size of every artifact', () => {
    const claims = [...(stepManifest.claims?.(stepManifest.example as never) ?? [])];
    expect(claims).toHaveLength(5);
    expect(claims[4]).toEqual({
      at: 'artifacts[4]',
      file: 'workspace.diff',
      sha256: 'sha256:e3b1c442a8fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8aa',
      bytes: 2970,
    });
  });

  test('of a manifest omit a missing final response', () => {
    const withoutResponse = { 'artifacts.1.path': undefined, 'artifacts.1.sha256': undefined };
    const manifest = exampleWith(stepManifest, { termination: 'error', ...withoutResponse });
    expect([...(stepManifest.claims?.(manifest as never) ?? [])].map(({ at }) => at)).toEqual(
      [0, 2, 3, 4].map(index => `artifacts[${index}]`),
    );
  });

  test('of a result name the paths that are not null', () => {
    const claimed = (changes: Record<string, unknown>) => [
      ...(agentResult.claims?.(exampleWith(agentResult, changes) as never) ?? []),
    ];
    expect(claimed({}).map(({ at }) => at)).toEqual(['transcript_path', 'final_response_path']);
    expect(claimed({ transcript_path: null, final_response_path: null })).toEqual([]);
  });
});

function judge(contract: Contract, value: unknown) {
  return check(contract, value, { strict: false, internal: false });
}

function place({ rule_id, path }: Violation): string {
  return `${rule_id} ${path}`;
}

function keysOf({ shape }: Contract): string[] {
  return Object.keys(z.toJSONSchema(shape).properties ?? {}).sort();
}

/** Every value in a document, with its path for `exampleWith`. */
function* leavesOf(value: unknown, path = ''): Generator<[string, unknown]> {
  if (path !== '') yield [path, value];
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) yield* leavesOf(inner, path === '' ? key : `${path}.${key}`);
}

function byNumber(a: string, b: string): number {
  return Number(a.slice(2)) - Number(b.slice(2));
}
