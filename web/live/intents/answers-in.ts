import { Refusal } from '../api.ts';
import type { OpenQuestion } from './answer-field.tsx';

/** The answers in a form, by the ids of their questions. A question without an answer is left out. */
export function answersIn(questions: readonly OpenQuestion[], form: FormData): Record<string, unknown> {
  const answers: Record<string, unknown> = {};
  const faults = new Map<string, string>();
  for (const { id, expects } of questions) {
    const entry = form.get(id);
    const text = typeof entry === 'string' ? entry : '';
    if (expects.kind === 'command' && form.has(`${id}-out`)) answers[id] = false;
    else if (text.trim() !== '') {
      try {
        answers[id] = answerOf(expects, text);
      } catch {
        faults.set(id, 'This is not valid JSON.');
      }
    }
  }
  if (faults.size > 0) throw new Refusal(0, 'bad_answers', 'Some answers cannot be sent.', faults);
  return answers;
}

function answerOf(expects: OpenQuestion['expects'], text: string): unknown {
  if (expects.kind === 'choice') return expects.choices[Number(text)];
  if (expects.kind === 'command') return text.split('\n').filter(word => word !== '');
  return expects.kind === 'plan' ? (JSON.parse(text) as unknown) : text;
}
