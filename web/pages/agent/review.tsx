import type { AgentPage } from '../../../src/reports/pages/agent-page-data.ts';
import { count, plural } from '../../shared/format.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';
import { Text } from '../../shared/visible.tsx';
import { Command } from '../command.tsx';

/** What to look at before the changes are applied, and the commands for this run. */
export function Review({ data: { review, commands } }: { readonly data: AgentPage }) {
  const { blocked, isEmpty, files, filesTotal, items } = review;
  const isClear = blocked === null && files.length === 0 && items.length === 0;
  return (
    <>
      <ul class="review">
        {isEmpty && <Item tone="good" text="The agent changed nothing, so there is nothing to apply." />}
        {!isEmpty && blocked !== null && <Item tone="bad" text={`proctor apply refuses: ${blocked}`} />}
        {!isEmpty && isClear && <Item tone="good" text="Nothing needs special review. Read the changes below." />}
        {files.length > 0 && (
          <li data-tone="unsure">
            <Icon path={VERDICT_ICONS.unsure} />
            <div>
              <p>
                {plural(filesTotal, 'file')} {filesTotal === 1 ? 'runs' : 'run'} automatically once applied. Name each
                with <code>--allow-active</code>.
              </p>
              <ul class="review-files">
                {files.map(({ path, reason }) => (
                  <li key={path}>
                    <code>
                      <Text value={path} />
                    </code>{' '}
                    <span class="muted">
                      <Text value={reason} />
                    </span>
                  </li>
                ))}
                {filesTotal > files.length && <li class="muted">and {count(filesTotal - files.length)} more</li>}
              </ul>
            </div>
          </li>
        )}
        {items.map(({ tone, text }) => (
          <Item key={text} tone={tone} text={text} />
        ))}
      </ul>
      <div class="commands">
        {commands.map(one => (
          <Command key={one.command} {...one} />
        ))}
      </div>
    </>
  );
}

const WORDS = { good: 'Fine', bad: 'Problem', unsure: 'Look' } as const;

function Item({ tone, text }: AgentPage['review']['items'][number]) {
  return (
    <li data-tone={tone}>
      <Icon path={VERDICT_ICONS[tone]} />
      <p>
        <span class="unseen">{WORDS[tone]}: </span>
        <Text value={text} />
      </p>
    </li>
  );
}
