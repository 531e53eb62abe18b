import type { AgentPage, CutText } from '../../../src/reports/pages/agent-page-data.ts';
import { count, instant } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';

/** Who did what, when, and at which cost. */
export function Facts({ data: { facts, task } }: { readonly data: AgentPage }) {
  return (
    <>
      <dl class="agent-facts">
        {facts.map(({ name, value, note }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Text value={name === 'Started' ? instant(value) : value} />
              {note && (
                <span class="fact-note">
                  <Text value={note} />
                </span>
              )}
            </dd>
          </div>
        ))}
      </dl>
      <h3 class="small-title">Task</h3>
      {task ? <LongText value={task} name="task" /> : <p class="muted">unknown</p>}
    </>
  );
}

const FOLD_UNITS = 600;
const FOLD_LINES = 8;

interface LongProps {
  readonly value: CutText;
  /** What it is, for the button: "task", "result". */
  readonly name: string;
  readonly isCode?: boolean;
}

/** A text that is folded if it is long. Says how much of it is not on the page. */
export function LongText({ value, name, isCode = false }: LongProps) {
  const { text, total } = value;
  const lines = text.split('\n');
  const isLong = text.length > FOLD_UNITS || lines.length > FOLD_LINES;
  const Tag = isCode ? 'pre' : 'div';
  const head = lines.slice(0, FOLD_LINES).join('\n').slice(0, FOLD_UNITS);
  const body = (shown: string) => (
    <Tag class={isCode ? 'long code' : 'long'} {...(isCode && { tabIndex: 0, role: 'region', 'aria-label': name })}>
      <Text value={shown} />
    </Tag>
  );
  return (
    <div class="long-text">
      {isLong ? (
        <details class="fold">
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
