import type { IntentPageData } from '../../../src/reports/pages/intent-page.ts';
import { Copyable } from '../../shared/copy.tsx';
import { plural } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { Card, Rest } from '../run/card.tsx';

/** The open questions, a file for the answers, and the command that uses it. */
export function Questions({ questions }: { readonly questions: NonNullable<IntentPageData['questions']> }) {
  const { asked, file, template, command } = questions;
  return (
    <Card id="questions" title="Questions" note={plural(asked.total, 'open question')}>
      <ol class="questions">
        {asked.shown.map(({ key, text }, index) => (
          <li key={index}>
            {key !== '' && (
              <code class="tag">
                <Text value={key} />
              </code>
            )}
            <p>
              <Text value={key !== '' && text.startsWith(`${key}: `) ? text.slice(key.length + 2) : text} />
            </p>
          </li>
        ))}
      </ol>
      <Rest list={asked} what="questions" />
      <h3>Answer them</h3>
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
    </Card>
  );
}
