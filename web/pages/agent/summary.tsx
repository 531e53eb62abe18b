import type { AgentPage, CutText } from '../../../src/reports/pages/agent-page-data.ts';
import { count, instant } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { FactList } from './fact-list.tsx';

/** Who did what, when, and at what cost. */
export function Facts({ data: { facts, task } }: { readonly data: AgentPage }) {
  return (
    <>
      <FactList facts={facts.map(fact => (fact.name === 'Started' ? { ...fact, value: instant(fact.value) } : fact))} />
      <h3 class="small-title">Task</h3>
      {task ? <LongText value={task} name="task" linesMax={TASK_LINES} /> : <p class="muted">unknown</p>}
    </>
  );
}

const LINE_UNITS = 75;
const FOLD_LINES = 8;
/** A task is folded sooner, because the verdict and the review come first. */
const TASK_LINES = 4;

interface LongProps {
  readonly value: CutText;
  /** What it is, for the button: "task", "result". */
  readonly name: string;
  readonly isCode?: boolean;
  /** The lines before the fold, of about 75 characters. */
  readonly linesMax?: number;
}

/** Text that is folded if it is long. Says how much of it is not on the page. */
export function LongText({ value, name, isCode = false, linesMax = FOLD_LINES }: LongProps) {
  const { text, total } = value;
  const lines = text.split('\n');
  const unitsMax = linesMax * LINE_UNITS;
  const isLong = text.length > unitsMax || lines.length > linesMax;
  const Tag = isCode ? 'pre' : 'div';
  const head = lines.slice(0, linesMax).join('\n').slice(0, unitsMax);
  const body = (shown: string) => (
    <Tag class={isCode ? 'long code' : 'long'} {...(isCode && { tabIndex: 0, role: 'region', 'aria-label': name })}>
      <Text value={shown} />
    </Tag>
  );
  return (
    <div class="long-text">
      {isLong ? (
        <details class="long-fold">
          <summary>
            <span class="folded">{body(`${head} …`)}</span>
            <span class="fold-word">
              Show the whole {name} ({count(lines.length)} {lines.length === 1 ? 'line' : 'lines'})
            </span>
          </summary>
          {body(text)}
        </details>
      ) : (
        body(text)
      )}
      {total !== undefined && (
        <p class="note">
          Cut here: the whole {name} has {count(total)} bytes.
        </p>
      )}
    </div>
  );
}
