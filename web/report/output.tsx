import { useState } from 'preact/hooks';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { PageCase } from '../../src/reports/page-data.ts';
import { AgentHtml } from '../shared/agent-html.tsx';
import { looksLikeHtml } from '../shared/looks-like-html.ts';
import { sideName } from '../shared/format.ts';
import { Flag } from '../shared/marks.tsx';
import { TextDiff } from '../shared/diff-view.tsx';
import { JsonView, ValueDiff } from '../shared/values.tsx';
import { Section, SideTitles } from '../shared/section.tsx';
import { useSource } from '../shared/source.ts';
import { Text } from '../shared/visible.tsx';

type Content = string | Record<string, unknown> | undefined;

/** The answers with their differences marked. HTML is shown as text until the reader asks for the page. */
export function Output({ data, isRun }: { readonly data: PageCase; readonly isRun: boolean }) {
  const baseline = contentOf(data.baseline);
  const candidate = contentOf(data.new);
  const isHtml = [baseline, candidate].some(looksLikeHtml);
  const [isRendered, setIsRendered] = useState(false);
  if (baseline === undefined && candidate === undefined) return null;
  const { baseline_at, new_at } = data.divergence ?? {};
  const isFirst = baseline_at === 'final_output' && new_at === 'final_output';
  const isSame = JSON.stringify(baseline) === JSON.stringify(candidate);
  return (
    <Section
      title="Output"
      note={isRun ? undefined : isSame ? 'the same on both sides' : isFirst ? <FirstHere /> : undefined}
    >
      <div class="output" data-at="baseline:final_output new:final_output" tabIndex={-1}>
        {isHtml && (
          <p class="as-html">
            {isRendered
              ? 'The agent’s HTML, without scripts, forms or external content.'
              : 'The agent answered with HTML, which is shown as text.'}{' '}
            <button type="button" onClick={() => setIsRendered(!isRendered)} aria-pressed={isRendered}>
              {isRendered ? 'Show as text' : 'Show as a page, without scripts'}
            </button>
          </p>
        )}
        {isRendered ? (
          <>
            {!isRun && !isSame && <SideTitles />}
            <div class={isRun || isSame ? '' : 'sides'}>
              {!isRun && !isSame && <Rendered content={baseline} side="baseline" />}
              <Rendered content={candidate ?? baseline} side="new" />
            </div>
          </>
        ) : isRun || isSame ? (
          <Whole content={candidate ?? baseline} />
        ) : (
          <Differing baseline={baseline} candidate={candidate} />
        )}
      </div>
    </Section>
  );
}

/** All steps are the same, so the answers are the first divergence. */
function FirstHere() {
  return (
    <span class="divergence in-title">
      <Flag />
    </span>
  );
}

const contentOf = (artifact: CaseArtifact | null): Content => artifact?.final_output?.content;

function Rendered({ content, side }: { readonly content: Content; readonly side: 'baseline' | 'new' }) {
  const { head } = useSource();
  return typeof content === 'string' && looksLikeHtml(content) ? (
    <AgentHtml html={content} title={`The agent’s HTML (${sideName(side)})`} styleMark={head.style_mark} />
  ) : (
    <Whole content={content} />
  );
}

function Whole({ content }: { readonly content: Content }) {
  if (content === undefined) return <p class="nothing">no output</p>;
  if (typeof content !== 'string') return <JsonView value={content} />;
  return (
    <p class="answer">
      <Text value={content} />
    </p>
  );
}

function Differing({ baseline, candidate }: { readonly baseline: Content; readonly candidate: Content }) {
  if (typeof baseline === 'string' && typeof candidate === 'string')
    return <TextDiff baseline={baseline} candidate={candidate} label="The answers of both sides" isProse />;
  if (typeof baseline === 'object' && typeof candidate === 'object')
    return (
      <>
        <SideTitles />
        <ValueDiff baseline={baseline} candidate={candidate} />
      </>
    );
  return (
    <>
      <SideTitles />
      <div class="sides">
        <Whole content={baseline} />
        <Whole content={candidate} />
      </div>
    </>
  );
}
