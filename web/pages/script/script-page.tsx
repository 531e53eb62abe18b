import type { ScriptPageData } from '../../../src/reports/pages/script-page.ts';
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
import { HtmlOutput } from './html-output.tsx';

/** One script run: how it ended, what it printed and made, and the limits it ran under. */
export function ScriptPage({ data, page }: KindProps<'script'>) {
  const address = useRunAddress();
  useArrival(address);
  useOpenOnPaper();
  const { step, ended, evidence, commands } = data;
  return (
    <div class="run-page">
      <div class="run-column">
        {ended && <Result data={data} />}
        {step && ended && <Streams step={step} address={address} hasFailed={ended.status !== 'succeeded'} />}
        {data.html !== '' && <HtmlOutput html={data.html} address={address} styleMark={page.style_mark} />}
        {ended && <Output data={data} />}
        {step && <Sandbox step={step} />}
        <Commands commands={commands} />
      </div>
      <div class="run-column side-column">
        {step && <Limits step={step} isOpen={!ended} />}
        <Request data={data} />
        <Evidence evidence={evidence} masking={step?.masking ?? null} />
      </div>
    </div>
  );
}

function Result({ data: { ended, step, notes } }: { readonly data: ScriptPageData }) {
  if (!ended) return null;
  const { status, ending, claim, reason, summary, is_overstated, reference } = ended;
  return (
    <LinkedCard id="result" title="Result">
      {summary !== null && (
        <p class="run-summary">
          <Text value={summary} />
        </p>
      )}
      <Facts
        rows={[
          ['Proctor says', STATUS[status]],
          ['Script says', claim],
          ['Ending', ending],
          ['Reason', reason && <code>{reason}</code>],
          ['Reference', reference && <code>{reference}</code>],
        ]}
      />
      {is_overstated && (
        <p class="note">Proctor decides by what it saw. The script’s claim never improves the status.</p>
      )}
      {step?.recovered && <Recovered recovered={step.recovered} />}
      {notes.map(note => (
        <p key={note} class="note">
          <Text value={note} />
        </p>
      ))}
    </LinkedCard>
  );
}

const STATUS = { succeeded: 'succeeded', failed: 'failed', timed_out: 'timed out' } as const;

function Output({ data: { files, is_output_known } }: { readonly data: ScriptPageData }) {
  const note = is_output_known ? (files.total === 0 ? 'none' : count(files.total)) : 'unknown';
  return (
    <LinkedCard id="files" title="Output files" note={note}>
      {!is_output_known && <p class="note">Proctor was interrupted before it read the files.</p>}
      <Files files={files} label="Output files" />
    </LinkedCard>
  );
}

/** What ran: the script, its arguments, inputs and variables. */
function Request({ data }: { readonly data: ScriptPageData }) {
  const { script, args, inputs, env, secrets, started_at, took_ms } = data;
  if (!script) return null;
  const isSecret = new Set(secrets.shown);
  const names = [...env.shown.filter(name => !isSecret.has(name)), ...secrets.shown.map(name => `${name} (secret)`)];
  return (
    <LinkedCard id="request" title="Request">
      <Facts
        rows={[
          ['Script', <Source name={script.name} sha256={script.sha256} bytes={script.bytes} />],
          ['Interpreter', script.interpreter],
          ['Arguments', args.total === 0 ? 'none' : <Words words={args.shown} />],
          ['Inputs', inputs.total === 0 ? 'none' : inputs.shown.map(one => <Source key={one.name} {...one} />)],
          ['Variables', names.length === 0 ? 'none' : <Words words={names} />],
          ['Started', started_at && instant(started_at)],
          ['Took', took_ms !== null && `${milliseconds(took_ms)}, including preparation and teardown`],
        ]}
      />
      <Rest list={args} what="arguments" />
      <Rest list={inputs} what="inputs" />
      <Rest list={env} what="variables" />
    </LinkedCard>
  );
}

function Words({ words }: { readonly words: readonly string[] }) {
  return (
    <span class="run-words">
      {words.map((word, index) => (
        <code key={index}>
          <Text value={word === '' ? '""' : word} />
        </code>
      ))}
    </span>
  );
}
