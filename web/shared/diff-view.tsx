import { useMemo, useState } from 'preact/hooks';
import {
  type Diff,
  type DiffLine,
  type DiffRow,
  diffOfTexts,
  type FirstNumbers,
  type Fold,
  foldedRows,
  type PreparedLine,
  rowsOfLines,
  unifiedRows,
} from './diff-rows.ts';
import { type DiffLayout, LAYOUTS, useDiffLayout } from './diff-layout.ts';
import { count, plural } from './format.ts';
import { useIsPrinted } from './print.ts';
import { Text } from './visible.tsx';

interface Look {
  /** What the two texts are, for screen readers. */
  readonly label: string;
  /** Sets the lines in the font of the page, for texts that are not code. */
  readonly isProse?: boolean;
  /** Leaves out the titles and the switch, for a short diff among others. */
  readonly isBare?: boolean;
}

/** Two texts, or lines whose sides are known, such as those of a patch. */
type Subject =
  | { readonly baseline: string; readonly candidate: string }
  | { readonly lines: readonly PreparedLine[]; readonly first?: FirstNumbers };

/** A difference with its words marked and its equal lines folded, side by side or unified. */
export function TextDiff({ label, isProse = false, isBare = false, ...subject }: Look & Subject) {
  const diff = useMemo(() => diffOf(subject), Object.values(subject));
  const [layout, setLayout] = useDiffLayout();
  const [opened, setOpened] = useState<ReadonlyMap<DiffRow, number>>(new Map());
  const [most, setMost] = useState(ROWS_AT_ONCE);
  const isPrinted = useIsPrinted();
  const folded = useMemo(() => foldedRows(diff.rows), [diff]);
  const items = useMemo(() => {
    const open = folded.flatMap(item => ('fold' in item ? openedFold(item, opened, isPrinted) : [item]));
    return layout === 'unified' ? unifiedRows(open) : open;
  }, [folded, opened, layout, isPrinted]);
  const shown = items.slice(0, isPrinted ? ROWS_ON_PAPER : most);
  const isNumbered = diff.rows.length > 1;
  const kind = ['diff', layout, isProse ? 'prose' : 'code', isNumbered ? 'numbered' : 'plain'].join(' ');
  return (
    <div class="diff-box">
      {!isBare && (isNumbered || isLong(diff)) && <Toolbar layout={layout} setLayout={setLayout} />}
      <table class={kind} aria-label={label} tabIndex={-1}>
        <Columns layout={layout} isNumbered={isNumbered} />
        {!isBare && layout === 'side' && <Titles isNumbered={isNumbered} />}
        <tbody>
          {shown.map((item, index) =>
            'fold' in item ? (
              <FoldRow
                key={index}
                fold={item}
                columns={columnsOf(layout, isNumbered)}
                onOpen={first => setOpened(new Map([...opened, [first, (opened.get(first) ?? 0) + ROWS_AT_ONCE]]))}
              />
            ) : (
              <Row key={index} row={item} layout={layout} isNumbered={isNumbered} />
            ),
          )}
        </tbody>
      </table>
      {items.length > shown.length && (
        <p class="note">
          {plural(items.length - shown.length, 'more row')} of this difference.{' '}
          {!isPrinted && (
            <button type="button" class="small" onClick={() => setMost(most + ROWS_AT_ONCE)}>
              Show {count(Math.min(ROWS_AT_ONCE, items.length - shown.length))} more
            </button>
          )}
        </p>
      )}
      {diff.linesLeft > 0 && (
        <p class="note">The text is long: {plural(diff.linesLeft, 'line')} at its end are not compared.</p>
      )}
    </div>
  );
}

function diffOf(subject: Subject): Diff {
  if ('lines' in subject) return { rows: rowsOfLines(subject.lines, subject.first), linesLeft: 0 };
  return diffOfTexts(subject.baseline, subject.candidate);
}

const charsOf = (line: DiffLine | undefined): number =>
  line?.parts.reduce((sum, { text }) => sum + text.length, 0) ?? 0;

/** Whether a diff of one line needs a switch. */
function isLong({ rows }: Diff): boolean {
  return rows.some(({ baseline, candidate }) => charsOf(baseline) + charsOf(candidate) > SWITCH_CHARS_MIN);
}

const SWITCH_CHARS_MIN = 300;

/** Rows drawn at first, and added by each click. */
const ROWS_AT_ONCE = 500;
const ROWS_ON_PAPER = 5_000;

/** The part of a fold that is open, and the rest as a fold. */
function openedFold(
  { fold }: Fold,
  opened: ReadonlyMap<DiffRow, number>,
  isWhole: boolean,
): readonly (DiffRow | Fold)[] {
  const lines = isWhole ? fold.length : (opened.get(fold[0] as DiffRow) ?? 0);
  if (lines === 0) return [{ fold }];
  return lines >= fold.length
    ? fold
    : [...fold.slice(0, lines), { fold: fold.slice(lines), first: fold[0] as DiffRow }];
}

function columnsOf(layout: DiffLayout, isNumbered: boolean): number {
  return layout === 'side' ? (isNumbered ? 4 : 2) : isNumbered ? 3 : 1;
}

const WORDS: Record<DiffLayout, string> = { side: 'Side by side', unified: 'Unified' };

function Toolbar({
  layout,
  setLayout,
}: {
  readonly layout: DiffLayout;
  readonly setLayout: (layout: DiffLayout) => void;
}) {
  return (
    <div class="diff-tools">
      {layout === 'unified' && (
        <span class="muted">
          <span class="sign gone">−</span> baseline <span class="sign added">+</span> candidate
        </span>
      )}
      <span class="switch" role="group" aria-label="Layout of differences">
        {LAYOUTS.map(one => (
          <button key={one} type="button" aria-pressed={layout === one} onClick={() => setLayout(one)}>
            {WORDS[one]}
          </button>
        ))}
      </span>
    </div>
  );
}

/** The widths of the columns: numbers are narrow, and texts share the rest. */
function Columns({ layout, isNumbered }: { readonly layout: DiffLayout; readonly isNumbered: boolean }) {
  const number = isNumbered ? <col class="number" /> : null;
  return (
    <colgroup>
      {number}
      {layout === 'side' && <col />}
      {number}
      <col />
    </colgroup>
  );
}

function Titles({ isNumbered }: { readonly isNumbered: boolean }) {
  const columns = isNumbered ? 2 : 1;
  return (
    <thead>
      <tr>
        <th scope="colgroup" colSpan={columns}>
          Baseline
        </th>
        <th scope="colgroup" colSpan={columns}>
          Candidate
        </th>
      </tr>
    </thead>
  );
}

interface FoldProps {
  readonly fold: Fold;
  readonly columns: number;
  readonly onOpen: (first: DiffRow) => void;
}

function FoldRow({ fold: { fold, first }, columns, onOpen }: FoldProps) {
  return (
    <tr class="unchanged">
      <td colSpan={columns}>
        <button
          type="button"
          onClick={({ currentTarget }) => {
            // The button goes away, and the focus with it.
            currentTarget.closest('table')?.focus({ preventScroll: true });
            onOpen(first ?? (fold[0] as DiffRow));
          }}
        >
          {plural(fold.length, 'unchanged line')}
        </button>
      </td>
    </tr>
  );
}

interface RowProps {
  readonly row: DiffRow;
  readonly layout: DiffLayout;
  readonly isNumbered: boolean;
}

function Row({ row: { how, baseline, candidate }, layout, isNumbered }: RowProps) {
  if (layout === 'side')
    return (
      <tr>
        <Side line={baseline} how={how === 'same' ? 'same' : 'gone'} isNumbered={isNumbered} />
        <Side line={candidate} how={how === 'same' ? 'same' : 'added'} isNumbered={isNumbered} />
      </tr>
    );
  const line = candidate ?? baseline;
  return (
    <tr>
      {isNumbered && <td class="number">{baseline?.number}</td>}
      {isNumbered && <td class="number">{candidate?.number}</td>}
      <Cell line={line} how={how === 'changed' ? 'added' : how} />
    </tr>
  );
}

function Side({
  line,
  how,
  isNumbered,
}: {
  readonly line: DiffLine | undefined;
  readonly how: Exclude<DiffRow['how'], 'changed'>;
  readonly isNumbered: boolean;
}) {
  return (
    <>
      {isNumbered && <td class="number">{line?.number}</td>}
      <Cell line={line} how={how} />
    </>
  );
}

const SIGNS = { same: '', gone: '−', added: '+' } as const;
const SPOKEN = { same: '', gone: 'Baseline: ', added: 'Candidate: ' } as const;

function Cell({ line, how }: { readonly line: DiffLine | undefined; readonly how: keyof typeof SIGNS }) {
  if (!line)
    return (
      <td class="diff-line none">
        <span class="unseen">no such line</span>
      </td>
    );
  return (
    <td class={`diff-line ${how}`}>
      {how !== 'same' && (
        <>
          <span class="sign" aria-hidden="true">
            {SIGNS[how]}
          </span>
          <span class="unseen">{SPOKEN[how]}</span>
        </>
      )}
      {line.parts.map(({ text, isMarked, left }, index) => (
        <span key={index}>
          {!isMarked ? (
            <Text value={text} />
          ) : how === 'gone' ? (
            <del>
              <Text value={text} />
            </del>
          ) : (
            <ins>
              <Text value={text} />
            </ins>
          )}
          {left !== undefined && <span class="left-out"> … {plural(left, 'character')} not shown … </span>}
        </span>
      ))}
    </td>
  );
}
