import type { PageCase, PageHead } from '../../src/reports/page-data.ts';
import { type CaseValues, type Filled, filledCommand, pasted } from './command-text.ts';
import { Copyable } from '../shared/copy.tsx';
import { Section } from '../shared/section.tsx';
import { useSource } from '../shared/source.ts';
import { Text } from '../shared/visible.tsx';

/** The commands that run, resend or show this case. */
export function Commands({ id, data }: { readonly id: string; readonly data?: PageCase | undefined }) {
  const { head } = useSource();
  if (!head.commands) return null;
  const { list, notes, away } = head.commands;
  const runs = runsOf(head, data, away);
  const isWhole = data !== undefined && !data.cuts.includes('The input is truncated.');
  const values: CaseValues = { id, input: isWhole ? data.input : null, runs };
  const rows = list.flatMap(command => {
    const filled = filledCommand(command, values);
    return filled ? [{ ...command, filled }] : [];
  });
  if (rows.length === 0 && notes.length === 0) return null;
  return (
    <Section title="Commands" note="run them in the folder of the project">
      <ul class="commands">
        {rows.map(({ does, note, filled }) => (
          <li key={does}>
            <p>
              <Text value={does} />
              {note && (
                <span class="muted">
                  {' '}
                  <Text value={note} />
                </span>
              )}
            </p>
            <FilledCommand filled={filled} does={does} />
          </li>
        ))}
      </ul>
      {notes.map(note => (
        <p class="note" key={note}>
          <Text value={note} />
        </p>
      ))}
    </Section>
  );
}

/** Without the case's data, the first runs of the sides. */
function runsOf(head: PageHead, data: PageCase | undefined, away: readonly string[]): CaseValues['runs'] {
  const { sides } = head.comparison ?? {};
  const of = (side: 'baseline' | 'new'): string | undefined => {
    const run =
      data?.shown[side] ??
      data?.trials[side][0]?.run_id ??
      sides?.[side].run_ids[0] ??
      (side === 'new' ? head.id : undefined);
    return run !== undefined && !away.includes(run) ? run : undefined;
  };
  return { baseline: head.kind === 'run' ? undefined : of('baseline'), new: of('new') };
}

export function Command({ words, does }: { readonly words: readonly string[]; readonly does: string }) {
  return <FilledCommand filled={pasted(words)} does={does} />;
}

function FilledCommand({ filled, does }: { readonly filled: Filled; readonly does: string }) {
  return 'why' in filled ? <p class="note">{filled.why}</p> : <Copyable text={filled.text} label={does} />;
}
