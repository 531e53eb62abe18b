import { Fault } from '../../base/fault.ts';

/** A fault that prevents a decision. It names a rule, and has details for programs. */
export class IntentFault extends Fault {
  readonly ruleId: string | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: IntentFaultCode,
    message: string,
    more: {
      readonly ruleId?: string;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly cause?: unknown;
    } = {},
  ) {
    super(code, message, { cause: more.cause });
    this.ruleId = more.ruleId;
    this.details = more.details;
  }
}

type IntentFaultCode =
  | 'intent_unreadable'
  | 'intent_syntax'
  | 'intent_invalid'
  | 'model_mode_refused'
  | 'evidence_invalid'
  | 'recording_unusable'
  | 'planner_failed';
