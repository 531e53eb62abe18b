import type { PageCase } from '../../src/reports/page-data.ts';
import { TextDiff } from '../shared/diff-view.tsx';
import { Section, SideTitles } from '../shared/section.tsx';
import { ValueDiff } from '../shared/values.tsx';
import { Text } from '../shared/visible.tsx';

/** How the case changed since the baseline. The two sides then ran different versions of it. */
export function Changes({ data: { changes, was, input, expected } }: { readonly data: PageCase }) {
  if (changes.length === 0) return null;
  return (
    <Section title="Changed since the baseline" note="the two sides ran different versions of this case">
      <ul class="changes">
        {changes.map(line => (
          <li key={line}>
            <Text value={line} />
          </li>
        ))}
      </ul>
      {was ? (
        <>
          <Input was={was.input} is={input} />
          <Compared title="Expectations" was={was.expected} is={expected} />
        </>
      ) : (
        <p class="note">
          The baseline’s version of this case is not in this project, so only these differences are known. Its run
          folder has it in <code>assets/cases.ndjson</code>.
        </p>
      )}
    </Section>
  );
}

interface Versions {
  readonly was: unknown;
  readonly is: unknown;
}

/** The question as text, and the rest of the input as values. */
function Input({ was, is }: Versions) {
  const [before, now] = [was, is].map(splitInput) as [Question, Question];
  return (
    <>
      {before.user !== now.user && (
        <div class="version">
          <h4>Input</h4>
          <TextDiff
            baseline={before.user}
            candidate={now.user}
            label="The input in both versions of the case"
            isProse
          />
        </div>
      )}
      <Compared title="Context" was={before.rest} is={now.rest} />
    </>
  );
}

interface Question {
  readonly user: string;
  readonly rest: object;
}

function splitInput(input: unknown): Question {
  const { user, ...rest } = (input ?? {}) as { readonly user?: unknown };
  return { user: typeof user === 'string' ? user : '', rest };
}

function Compared({ title, was, is }: Versions & { readonly title: string }) {
  if (JSON.stringify(was) === JSON.stringify(is)) return null;
  return (
    <div class="version">
      <h4>{title}</h4>
      <SideTitles />
      <ValueDiff baseline={was ?? {}} candidate={is ?? {}} />
    </div>
  );
}
