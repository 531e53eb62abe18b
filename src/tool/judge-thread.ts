import type { JudgeApart } from '../judge/apart.ts';

/** Lends a thread to what is judged, started when it is first needed and ended afterwards. */
export async function withThread<Judged>(
  signal: AbortSignal | undefined,
  judge: (judgeApart: JudgeApart) => Promise<Judged>,
): Promise<Judged> {
  const { CallThread } = await import('../execute/call-thread.ts');
  const thread = new CallThread('judge-thread.js');
  try {
    return await judge(question => thread.call(question, signal));
  } finally {
    await thread.close();
  }
}
