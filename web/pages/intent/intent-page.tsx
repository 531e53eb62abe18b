import type { ComponentChildren } from 'preact';
import type { IntentPageData } from '../../../src/reports/pages/intent-page.ts';
import { count, instant, milliseconds } from '../../shared/format.ts';
import { useOpenOnPaper } from '../../shared/print.ts';
import { Text } from '../../shared/visible.tsx';
import type { KindProps } from '../kinds.tsx';
import { useArrival, useRunAddress } from '../run/address.ts';
import { Facts, Rest, LinkedCard } from '../run/card.tsx';
import { Commands, Evidence } from '../evidence.tsx';
import { Files, Source } from '../run/files.tsx';
import { Limits } from '../run/limits.tsx';
import { Recovered } from '../run/recovered.tsx';
import { Sandbox } from '../run/sandbox.tsx';
import { Streams } from '../run/streams.tsx';
import { Bounds, Checks, Plan } from './plan.tsx';
import { Questions } from './questions.tsx';

/** One intent run: what Proctor decided and why, the plan, and what executing it gave. */
export function IntentPage({ data, answering }: KindProps<'intent'>) {
  const address = useRunAddress();
  useArrival(address);
  useOpenOnPaper();
  const { questions, plan, step, checks, kind } = data;
  return (
    <div class="run-page">
      <div class="run-column">
        {kind !== null && <Decision data={data} />}
        {questions && <Questions questions={questions} answering={answering} />}
        {checks.total > 0 && <Checks checks={checks} hasRun={step !== null} />}
        {plan && <Plan plan={plan} />}
        {step && <Streams step={step} address={address} hasFailed={!data.is_accepted} />}
        {step && <Output data={data} />}
        {step && <Sandbox step={step} />}
        <Commands commands={data.commands} />
      </div>
      <div class="run-column side-column">
        <Request data={data} />
        {plan && <Bounds plan={plan} constraints={data.constraints} />}
        {step && <Limits step={step} />}
        <Evidence evidence={data.evidence} masking={step?.masking ?? null} />
      </div>
    </div>
  );
}

function Decision({ data: { kind, is_accepted, reasons, ended, step } }: { readonly data: IntentPageData }) {
  return (
    <LinkedCard id="decision" title="Decision">
      <Facts
        rows={[
          ['Result', kind],
          ['Accepted', is_accepted ? 'yes' : 'no'],
          ['Executed', step ? 'yes' : 'no, nothing ran'],
          ['Ending', ended],
        ]}
      />
      <ul class="reasons" data-refused={kind === 'REFUSE'}>
        {reasons.shown.map((reason, index) => (
          <li key={index}>
            <Reason text={reason} />
          </li>
        ))}
      </ul>
      <Rest list={reasons} what="reasons" />
      {step?.recovered && <Recovered recovered={step.recovered} />}
    </LinkedCard>
  );
}

/** A refusal begins with the id of its rule. */
function Reason({ text }: { readonly text: string }) {
  const [, rule, rest] = /^([A-Z]{2}\d{1,2}): (.*)$/s.exec(text) ?? [];
  if (rule === undefined || rest === undefined) return <Text value={text} />;
  return (
    <>
      <code class="tag">{rule}</code> <Text value={rest} />
    </>
  );
}

function Output({ data: { files, missing } }: { readonly data: IntentPageData }) {
  return (
    <LinkedCard id="files" title="Outputs" note={files.total === 0 ? 'none' : count(files.total)}>
      {missing.total > 0 && (
        <p class="run-summary">
          Missing:{' '}
          {missing.shown.map((path, index) => (
            <code key={path}>
              {index > 0 && ', '}
              <Text value={path} />
            </code>
          ))}
        </p>
      )}
      <Files files={files} label="Outputs" />
    </LinkedCard>
  );
}

function Request({ data: { request, goal, started_at, took_ms } }: { readonly data: IntentPageData }) {
  if (!request) return null;
  const sources = request.sources.map(({ what, name, sha256, bytes }) => [
    what,
    <Source name={name} sha256={sha256} bytes={bytes} />,
  ]);
  return (
    <LinkedCard id="request" title="Request">
      <Facts
        rows={[
          ['Goal', goal && <Text value={goal} />],
          ...(sources as [string, ComponentChildren][]),
          ['Profile', <Text value={request.policy} />],
          ['Mode', request.mode],
          ['Model', request.model_mode === 'none' ? 'none' : request.model_mode],
          ['Started', started_at && instant(started_at)],
          ['Took', took_ms === null ? null : milliseconds(took_ms)],
        ]}
      />
    </LinkedCard>
  );
}
