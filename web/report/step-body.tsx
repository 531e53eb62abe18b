import type { PageCase } from '../../src/reports/page-data.ts';
import type { RowProps, Views } from './event-row.tsx';
import { plural, sideName } from '../shared/format.ts';
import { PlaceLink } from './places.tsx';
import type { StepView } from './step-view.ts';
import { JsonView, ValueDiff } from '../shared/values.tsx';
import { useIsPrinted } from '../shared/print.ts';

interface Props extends Pick<RowProps, 'row' | 'scene' | 'address'> {
  readonly views: Views;
}

/** The request and the result of a step; where the sides differ, side by side. */
export function StepBody({ row, views, scene: { data }, address }: Props) {
  const { baseline, candidate } = views;
  return (
    <div class="step-body">
      {baseline && candidate && row.how !== 'same' ? (
        <Compared baseline={baseline} candidate={candidate} data={data} address={address} />
      ) : (
        <Single view={(candidate ?? baseline) as StepView} />
      )}
      <Assets views={views} data={data} />
      {row.clipped !== undefined && (
        <p class="note">{plural(row.clipped, 'event')} of this step are not on this page.</p>
      )}
      <Recorded views={views} />
    </div>
  );
}

function Single({ view: { type, request, result } }: { readonly view: StepView }) {
  return (
    <>
      <h4>{type === 'call' ? 'Arguments' : 'Content'}</h4>
      <JsonView value={request} />
      {result !== undefined && (
        <>
          <h4>Result</h4>
          <JsonView value={result} />
        </>
      )}
    </>
  );
}

interface ComparedProps {
  readonly baseline: StepView;
  readonly candidate: StepView;
  readonly data: PageCase;
  readonly address: Props['address'];
}

function Compared({ baseline, candidate, data, address }: ComparedProps) {
  if (isShownBelow(baseline, data.baseline) && isShownBelow(candidate, data.new))
    return (
      <p class="note">
        The answers differ; see the output below. <PlaceLink place="new:final_output" address={address} isPlain />
      </p>
    );
  const isCall = baseline.type === 'call' && candidate.type === 'call';
  return (
    <>
      <h4>{isCall ? 'Arguments' : 'Content'}</h4>
      <ValueDiff baseline={baseline.request} candidate={candidate.request} />
      {(baseline.result !== undefined || candidate.result !== undefined) && (
        <>
          <h4>Result</h4>
          <ValueDiff baseline={baseline.result ?? 'no result'} candidate={candidate.result ?? 'no result'} />
        </>
      )}
    </>
  );
}

/** Hides the answer event, because the output section shows it. */
function isShownBelow({ events: [event] }: StepView, artifact: PageCase['new']): boolean {
  return (
    event?.type === 'final_output' &&
    JSON.stringify(event['content']) === JSON.stringify(artifact?.final_output?.content)
  );
}

function Assets({ views, data }: Pick<Props, 'views'> & { readonly data: PageCase }) {
  const found = (['baseline', 'new'] as const).flatMap(side =>
    ((side === 'new' ? views.candidate : views.baseline)?.events ?? []).flatMap(event => {
      const { payload_asset_href, snippets_asset_href } = event as Record<string, unknown>;
      return [payload_asset_href, snippets_asset_href].flatMap(href => {
        const text = typeof href === 'string' ? data.assets[side][href] : undefined;
        return text === undefined ? [] : { side, href: String(href), text };
      });
    }),
  );
  return (
    <>
      {found.map(({ side, href, text }) => (
        <div key={`${side} ${href}`}>
          <h4>
            File of the {sideName(side)}: <code>{href}</code>
          </h4>
          <JsonView value={text} />
        </div>
      ))}
    </>
  );
}

function Recorded({ views: { baseline, candidate } }: Pick<Props, 'views'>) {
  const views = [baseline, candidate].filter(view => view !== null);
  return (
    <details class="equal recorded" open={useIsPrinted()}>
      <summary>Events as they were recorded</summary>
      <div class={views.length === 2 ? 'sides' : ''}>
        {views.map((view, index) => (
          <JsonView key={index} value={view.events.length === 1 ? view.events[0] : view.events} />
        ))}
      </div>
    </details>
  );
}
