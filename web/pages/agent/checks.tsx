import type { AgentPage, PageCheck } from '../../../src/reports/pages/agent-page-data.ts';
import { withoutColours } from '../../shared/ansi.ts';
import { plural } from '../../shared/format.ts';
import { Icon, VERDICT_ICONS } from '../../shared/marks.tsx';
import { size } from '../../shared/size.ts';
import { Text } from '../../shared/visible.tsx';
import type { AgentAddress } from './address.ts';
import { DiffFiles } from './diff.tsx';
import { FactList } from './fact-list.tsx';

interface Props {
  readonly data: AgentPage;
  readonly address: AgentAddress;
}

/** The commands that ran in the tree that the agent left, each with its verdict and its reasons. */
export function Checks({ data: { checks }, address }: Props) {
  return (
    <>
      {checks.map(check => (
        <Check key={check.name} check={check} isSplit={address.diff === 'split'} />
      ))}
    </>
  );
}

function Check({ check, isSplit }: { readonly check: PageCheck; readonly isSplit: boolean }) {
  const { name, command, verdict, tone, message, facts, limits, second, streams, diff } = check;
  return (
    <article class="check" data-tone={tone} aria-labelledby={`check-${name}-title`}>
      <h3 id={`check-${name}-title`}>
        <Icon path={VERDICT_ICONS[tone]} /> <Text value={name} /> <span class="check-verdict">{verdict}</span>
      </h3>
      <p class="check-message">
        <Text value={message} />
      </p>
      <pre class="check-command" tabIndex={0} role="region" aria-label={`Command of ${name}`}>
        <Text value={command} />
      </pre>
      <FactList facts={facts} />
      <Failures check={check} />
      {second && (
        <p class="check-second" data-tone={second.tone}>
          <Icon path={VERDICT_ICONS[second.tone]} />
          <span>
            Second look, with only the changes to the declared paths: {second.verdict}. <Text value={second.message} />
          </span>
        </p>
      )}
      <FileList title="Put back" files={check.restored} />
      <FileList title="Kept, because the check allows it" files={check.kept} />
      {diff && diff.files.length > 0 && (
        <details class="more">
          <summary>The agent’s changes to the files that Proctor put back</summary>
          <DiffFiles diff={diff} prefix={`check-${name}-file`} isSplit={isSplit} />
        </details>
      )}
      {diff?.absent && <p class="note">{diff.absent}</p>}
      {streams.map(stream => (
        <Printed key={stream.name} stream={stream} check={name} />
      ))}
      <details class="more">
        <summary>Limits</summary>
        <FactList facts={limits} />
      </details>
    </article>
  );
}

function Failures({ check: { failures, failed } }: { readonly check: PageCheck }) {
  if (failures.shown.length === 0) return null;
  return (
    <>
      <h4 class="small-title">{plural(failed, 'failing test')}</h4>
      <ul class="bullets">
        {failures.shown.map((name, index) => (
          <li key={index}>
            <Text value={name} />
          </li>
        ))}
        {failed > failures.shown.length && (
          <li class="muted">and {plural(failed - failures.shown.length, 'more test')}</li>
        )}
      </ul>
    </>
  );
}

function FileList({ title, files }: { readonly title: string; readonly files: PageCheck['restored'] }) {
  if (files.total === 0) return null;
  return (
    <>
      <h4 class="small-title">
        {title} ({plural(files.total, 'file')})
      </h4>
      <ul class="review-files">
        {files.shown.map(({ path, change, because }, index) => (
          <li key={index}>
            <code>
              <Text value={path} />
            </code>{' '}
            <span class="muted">
              {change}, {because}
            </span>
          </li>
        ))}
        {files.total > files.shown.length && (
          <li class="muted">and {plural(files.total - files.shown.length, 'more file')}</li>
        )}
      </ul>
    </>
  );
}

function Printed({ stream, check }: { readonly stream: PageCheck['streams'][number]; readonly check: string }) {
  const { name, bytes, isTruncated, text } = stream;
  if (bytes === 0) return <p class="note">{name}: empty</p>;
  return (
    <details class="more">
      <summary>
        {name} ({size(bytes)}
        {isTruncated && ', truncated'})
      </summary>
      {text === null ? (
        <p class="note">The file cannot be read.</p>
      ) : (
        <pre class="long code" tabIndex={0} role="region" aria-label={`${name} of ${check}`}>
          <Text value={withoutColours(text)} />
        </pre>
      )}
    </details>
  );
}
