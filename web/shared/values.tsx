import { useMemo } from 'preact/hooks';
import { sideName } from './format.ts';
import { type Stretch, stretches } from './text-diff.ts';
import { ABSENT, leavesOf, textOf } from './value-diff.ts';
import { Text } from './visible.tsx';

export function JsonView({ value }: { readonly value: unknown }) {
  return (
    <pre class="json" tabIndex={0}>
      <Text value={typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')} />
    </pre>
  );
}

/** Two values key by key. Differences are shown; equal values are counted and can be expanded. */
export function ValueDiff({ baseline, candidate }: { readonly baseline: unknown; readonly candidate: unknown }) {
  const { leaves, isCut } = useMemo(() => leavesOf(baseline, candidate), [baseline, candidate]);
  const changed = leaves.filter(({ same }) => !same);
  const equal = leaves.filter(({ same }) => same);
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
        <details class="equal">
          <summary>{equal.length === 1 ? '1 equal value' : `${equal.length} equal values`}</summary>
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
      {isCut && <p class="note">Not all values are compared here.</p>}
    </div>
  );
}

function Values({ baseline, candidate }: { readonly baseline: unknown; readonly candidate: unknown }) {
  const isText = typeof baseline === 'string' && typeof candidate === 'string';
  const parts = useMemo(
    () => (isText && baseline.length + candidate.length > 24 ? stretches(baseline, candidate) : undefined),
    [baseline, candidate, isText],
  );
  if (parts) return <TextSides parts={parts} isCode />;
  return (
    <div class="sides">
      <OneValue value={baseline} side="baseline" />
      <OneValue value={candidate} side="new" />
    </div>
  );
}

function OneValue({ value, side }: { readonly value: unknown; readonly side: 'baseline' | 'new' }) {
  return (
    <div class={`value ${side} ${value === ABSENT ? 'absent' : 'whole'}`}>
      <span class="unseen">{sideName(side)}: </span>
      {value === ABSENT ? 'absent' : <Text value={textOf(value)} />}
    </div>
  );
}

/** Two texts side by side, with their differences marked. */
export function TextSides({
  parts,
  isCode = false,
}: {
  readonly parts: readonly Stretch[];
  readonly isCode?: boolean;
}) {
  return (
    <div class={isCode ? 'sides' : 'sides prose'}>
      {(['baseline', 'new'] as const).map(side => (
        <div key={side} class={`value ${side}`}>
          <span class="unseen">{sideName(side)}: </span>
          {parts
            .filter(({ on }) => on === 'both' || on === side)
            .map(({ text, on }, index) =>
              on === 'both' ? (
                <Text key={index} value={text} />
              ) : side === 'baseline' ? (
                <del key={index}>
                  <Text value={text} />
                </del>
              ) : (
                <ins key={index}>
                  <Text value={text} />
                </ins>
              ),
            )}
        </div>
      ))}
    </div>
  );
}
