import type { ComponentChildren } from 'preact';
import type { IntentPageData } from '../../../src/reports/pages/intent-page.ts';
import { Copyable } from '../../shared/copy.tsx';
import { plural } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { Rest, LinkedCard } from '../run/card.tsx';

type Asked = NonNullable<IntentPageData['questions']>;

/** Shows a form instead of the list of questions. The viewer has one; a page in a file does not. */
export type Answering = (list: ComponentChildren) => ComponentChildren;

/** The open questions, and how to answer them. */
export function Questions({
  questions,
  answering,
}: {
  readonly questions: Asked;
  readonly answering?: Answering | undefined;
}) {
  const list = <QuestionList asked={questions.asked} />;
  return (
    <LinkedCard id="questions" title="Questions" note={plural(questions.asked.total, 'open question')}>
      {answering ? (
        <>
          {answering(list)}
          <details>
            <summary>Answer in a terminal</summary>
            <InTerminal questions={questions} />
          </details>
        </>
      ) : (
        <>
          {list}
          <h3>Answer them</h3>
          <InTerminal questions={questions} />
        </>
      )}
    </LinkedCard>
  );
}

function QuestionList({ asked }: { readonly asked: Asked['asked'] }) {
  return (
    <>
      <ol class="questions">
        {asked.shown.map(({ key, text }, index) => (
          <li key={index}>
            <QuestionText name={key} text={text} />
          </li>
        ))}
      </ol>
      <Rest list={asked} what="questions" />
    </>
  );
}

/** The key of a question, then its text without the key. */
export function QuestionText({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <>
      {name !== '' && (
        <code class="tag">
          <Text value={name} />
        </code>
      )}
      <p>
        <Text value={name !== '' && text.startsWith(`${name}: `) ? text.slice(name.length + 2) : text} />
      </p>
    </>
  );
}

/** A file for the answers, and the command that uses it. */
function InTerminal({ questions: { file, template, command } }: { readonly questions: Asked }) {
  return (
    <>
      {template === null ? (
        <p class="note">
          1. Write an answer for each key to <code>{file}</code>, as one JSON object.
        </p>
      ) : (
        <>
          <p class="note">
            1. Save this as <code>{file}</code>, and replace each null. Proctor rejects an answer of null.
          </p>
          <Copyable text={template} label="an answers file to complete" />
        </>
      )}
      {command && (
        <>
          <p class="note">
            2. Run this command. <Text value={command.note ?? ''} />
          </p>
          <Copyable text={command.command} label={command.does} />
        </>
      )}
    </>
  );
}
