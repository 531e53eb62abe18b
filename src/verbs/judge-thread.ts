import { CallThread } from '../execute/host/call-thread.ts';
import type { JudgeApart } from '../judge/suite/apart.ts';

/** Provides a thread for judging. It starts on first use and ends when judging is done. */
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
