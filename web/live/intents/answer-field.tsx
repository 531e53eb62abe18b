import { QuestionText } from '../../pages/intent/questions.tsx';
import { Text } from '../../shared/visible.tsx';

export interface OpenQuestion {
  readonly id: string;
  readonly key: string;
  readonly text: string;
  readonly expects:
    | { readonly kind: 'text' | 'command' | 'plan' }
    | { readonly kind: 'choice'; readonly choices: readonly (string | number | boolean)[] };
}

interface Props {
  readonly question: OpenQuestion;
  readonly error: string | undefined;
}

/** One question with a field of its type. The server checks every answer. */
export function AnswerField({ question, error }: Props) {
  const { id, key, text } = question;
  return (
    <fieldset class="live-answer" data-wrong={error !== undefined}>
      <legend id={`${id}-text`}>
        <QuestionText name={key} text={text} />
      </legend>
      <Control question={question} error={error} />
      <p class="live-error" id={`${id}-error`}>
        {error !== undefined && <Text value={error} />}
      </p>
    </fieldset>
  );
}

function Control({ question: { id, expects }, error }: Props) {
  const common = {
    name: id,
    'aria-labelledby': `${id}-text`,
    'aria-describedby': `${id}-error`,
    'aria-invalid': error !== undefined,
  };
  switch (expects.kind) {
    case 'choice':
      return (
        <div class="live-choices">
          {expects.choices.map((choice, index) => (
            <label key={index}>
              <input
                type="radio"
                name={id}
                value={index}
                aria-describedby={`${id}-error`}
                aria-invalid={error !== undefined}
              />
              <code>
                <Text value={String(choice)} />
              </code>
            </label>
          ))}
        </div>
      );
    case 'command':
      return (
        <>
          <textarea rows={3} placeholder="One word per line" {...common} />
          <div class="live-choices">
            <label>
              <input type="checkbox" name={`${id}-out`} />
              Omit the output
            </label>
          </div>
        </>
      );
    case 'plan':
      return <textarea rows={6} placeholder={PLAN} {...common} />;
    default:
      return <input type="text" autoComplete="off" maxLength={TEXT_CHARS_MAX} {...common} />;
  }
}

const PLAN = '{ "commands": [{ "argv": ["node", "make.mjs"] }] }';
const TEXT_CHARS_MAX = 10_000;
