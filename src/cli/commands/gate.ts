import { printableJson } from '../../base/printable.ts';
import { gateFiles } from '../../verbs/gate.ts';
import { gateText } from '../text/gate-text.ts';
import { gateOption } from '../text/gate-word.ts';
import { stdout } from '../text/out.ts';
import { paintFor } from '../text/paint.ts';

export interface GateFlags {
  readonly gate?: string;
  readonly margin?: number;
  readonly alpha?: number;
  readonly confidence?: number;
  readonly critical?: readonly string[];
  readonly allowRemoved?: true;
  readonly looks?: number;
  readonly json?: true;
}

export async function gateCommand(baseline: string, candidate: string, flags: GateFlags): Promise<number> {
  const { gate: word, json, ...settings } = flags;
  const gated = await gateFiles({ baseline, candidate, ...gateOption(word), ...settings });
  stdout.write(json ? `${printableJson(gated)}\n` : gateText(gated, paintFor(1)));
  return gated.exit_code;
}
