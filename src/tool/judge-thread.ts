import { CallThread } from '../execute/call-thread.ts';
import type { JudgeApart } from '../judge/apart.ts';

/** Lends a thread to what is judged, started when it is first needed and ended afterwards. */
export async function withThread<Judged>(
  signal: AbortSignal | undefined,
  judge: (judgeApart: JudgeApart) => Promise<Judged>,
): Promise<Judged> {
  const thread = new CallThread('judge-thread.js');
  try {
    return await judge(question => thread.call(question, signal));
  } finally {
    await thread.close();
  }
}
