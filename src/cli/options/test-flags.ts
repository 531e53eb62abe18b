import { defined } from '../../base/defined.ts';
import type { Format } from '../../verbs/formats.ts';
import type { TestOverrides } from '../../verbs/test/suite-test.ts';
import { gateOption } from '../text/gate-word.ts';
import { type LimitFlags, limitsFromFlags } from './limit-flags.ts';

/** The flags that override the project file. */
export interface TestFlags extends LimitFlags {
  readonly config?: string;
  readonly only?: readonly string[];
  readonly repeat?: number;
  readonly concurrency?: number;
  readonly retries?: number;
  readonly timeout?: number;
  readonly idleTimeout?: number;
  readonly strictReplies?: true;
  readonly gate?: string;
  readonly allowRemoved?: true;
  readonly allowWeakened?: true;
  readonly report?: readonly Format[];
}

export function overridesFrom(flags: TestFlags): TestOverrides & { readonly config?: string } {
  return {
    ...gateOption(flags.gate),
    ...defined({
      config: flags.config,
      only: flags.only?.flatMap(words => words.split(',')).map(word => word.trim()),
      repeat: flags.repeat,
      concurrency: flags.concurrency,
      retries: flags.retries,
      timeoutMs: flags.timeout,
      idleMs: flags.idleTimeout,
      strictReplies: flags.strictReplies,
      limits: limitsFromFlags(flags),
      allowRemoved: flags.allowRemoved,
      allowWeakened: flags.allowWeakened,
      formats: flags.report,
    }),
  };
}
