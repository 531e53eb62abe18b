import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { plural } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { order } from '../api.ts';
import { visit } from '../router.ts';
import { includes, useHas, useWho } from '../session.ts';
import { useAct } from '../use-act.ts';
import { useAnswer } from '../use-answer.ts';
import { AnswerField, type OpenQuestion } from './answer-field.tsx';
import { answersIn } from './answers-in.ts';

interface OpenQuestions {
  readonly mode: 'plan-only' | 'execute-sandbox';
  readonly questions: readonly OpenQuestion[];
}

interface Props {
  readonly runId: string;
  /** The questions as text, for those who cannot answer them here. */
  readonly list: ComponentChildren;
}

/** A form that answers the questions of an intent run and leads to the new run. */
export function AnswerForm({ runId, list }: Props) {
  const isRunner = includes(useWho().role, 'runner');
  const hasRoute = useHas('POST /v1/runs/{run_id}/answers');
  const path = `/v1/runs/${encodeURIComponent(runId)}`;
  const { value, refusal } = useAnswer<OpenQuestions>(isRunner && hasRoute ? `${path}/questions` : null);
  if (value) return <Fields asked={value} path={path} />;
  const why = isRunner ? refusal?.message : 'Answering needs the role runner.';
  return (
    <>
      {list}
      {why !== undefined && (
        <p class="note">
          <Text value={why} />
        </p>
      )}
    </>
  );
}

function Fields({ asked, path }: { readonly asked: OpenQuestions; readonly path: string }) {
  const { act, error, fields, isBusy } = useAct();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (fields.size > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [fields]);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    act(async () => {
      const body = { answers: answersIn(asked.questions, data), mode: data.get('mode') };
      const { run_id: id } = await order<{ readonly run_id: string }>('POST', `${path}/answers`, body);
      visit(`/runs/${encodeURIComponent(id)}`);
    });
  };
  return (
    <form ref={form} class="live-form live-answers" aria-label="Answers" onSubmit={submit} noValidate>
      {asked.questions.map(question => (
        <AnswerField key={question.id} question={question} error={fields.get(question.id)} />
      ))}
      <label>
        <span>Then</span>
        <select name="mode" defaultValue={asked.mode}>
          <option value="plan-only" selected={asked.mode === 'plan-only'}>
            Plan only
          </option>
          <option value="execute-sandbox" selected={asked.mode === 'execute-sandbox'}>
            Plan and execute in the sandbox
          </option>
        </select>
      </label>
      <p class="note">
        Proctor asks the questions that you leave empty again. Answers start a new run; this one stays as it is.
      </p>
      <div>
        <button type="submit" class="live-button live-main-button" disabled={isBusy}>
          {isBusy ? 'Sending…' : `Answer ${plural(asked.questions.length, 'question')}`}
        </button>
      </div>
      <p class="live-error" role="alert">
        {error !== '' && <Text value={error} />}
      </p>
    </form>
  );
}
