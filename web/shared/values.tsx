import { useMemo } from 'preact/hooks';
import { TextDiff } from './diff-view.tsx';
import { count, sideName } from './format.ts';
import { useIsPrinted } from './print.ts';
import { ABSENT, leavesOf, textOf } from './value-diff.ts';
import { Text } from './visible.tsx';

export function JsonView({ value }: { readonly value: unknown }) {
  return (
    <pre class="json" tabIndex={0}>
      <Text value={jsonText(value)} />
    </pre>
  );
}

const jsonText = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '');

/**
 * Two values key by key. Differences are shown; equal values are counted and can be expanded. Values with too many keys
 * are compared as lines of JSON.
 */
export function ValueDiff({ baseline, candidate }: { readonly baseline: unknown; readonly candidate: unknown }) {
  const isPrinted = useIsPrinted();
  const { leaves, isCut } = useMemo(() => leavesOf(baseline, candidate), [baseline, candidate]);
  const changed = leaves.filter(({ same }) => !same);
  const equal = leaves.filter(({ same }) => same);
  if (isCut) return <TextDiff baseline={jsonText(baseline)} candidate={jsonText(candidate)} label="Two JSON values" />;
  return (
    <div class="leaves">
      {changed.map(leaf => (
        <div class="leaf" key={leaf.path}>
          {leaf.path !== '' && (
            <code class="key">
              <Text value={leaf.path} />
            </code>
          )}
          <Values baseline={leaf.baseline} candidate={leaf.candidate} />
        </div>
      ))}
      {equal.length > 0 && (
        <details class="equal" open={isPrinted}>
          <summary>{equal.length === 1 ? '1 equal value' : `${count(equal.length)} equal values`}</summary>
          <dl>
            {equal.map(({ path, candidate }) => (
              <div key={path}>
                <dt>
                  <code>
                    <Text value={path || 'value'} />
                  </code>
                </dt>
                <dd>
                  <code>
                    <Text value={textOf(candidate)} />
                  </code>
                </dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </div>
  );
}

/** Texts and large values are compared line by line; short values stand side by side. */
function Values({ baseline, candidate }: { readonly baseline: unknown; readonly candidate: unknown }) {
  const texts = useMemo(() => linesToCompare(baseline, candidate), [baseline, candidate]);
  if (texts) return <TextDiff {...texts} label="Two values" isBare={!isLong(texts)} />;
  return (
    <div class="sides">
      <OneValue value={baseline} side="baseline" />
      <OneValue value={candidate} side="new" />
    </div>
  );
}

/** Short texts need no titles and no switch between layouts. */
const isLong = ({ baseline, candidate }: { readonly baseline: string; readonly candidate: string }): boolean =>
  baseline.length + candidate.length > 2_000 || `${baseline}${candidate}`.split('\n', 12).length === 12;

const COMPARED_CHARS_MIN = 24;

function linesToCompare(
  baseline: unknown,
  candidate: unknown,
): { readonly baseline: string; readonly candidate: string } | undefined {
  if (typeof baseline === 'string' && typeof candidate === 'string')
    return baseline.length + candidate.length > COMPARED_CHARS_MIN ? { baseline, candidate } : undefined;
  const isLarge = [baseline, candidate].every(value => typeof value === 'object' && value !== null);
  return isLarge ? { baseline: jsonText(baseline), candidate: jsonText(candidate) } : undefined;
}

function OneValue({ value, side }: { readonly value: unknown; readonly side: 'baseline' | 'new' }) {
  return (
    <div class={`value ${side} ${value === ABSENT ? 'absent' : 'whole'}`}>
      <span class="unseen">{sideName(side)}: </span>
      {value === ABSENT ? 'absent' : <Text value={textOf(value)} />}
    </div>
  );
}
