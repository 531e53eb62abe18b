import { useMemo, useState } from 'preact/hooks';
import type { AgentPage, DiffFile, DiffHunk } from '../../../src/reports/pages/agent-page-data.ts';
import { count, plural } from '../../shared/format.ts';
import { Text } from '../../shared/visible.tsx';
import { type AgentAddress, agentHash } from './address.ts';
import { type DiffLine, linesOf, openAtFirst, splitRows } from './diff-rows.ts';

interface Props {
  readonly data: AgentPage;
  readonly address: AgentAddress;
}

/** The files that the agent changed, each with its lines. */
export function Changes({ data: { diff }, address }: Props) {
  const { absent, files, total, cut, masked } = diff;
  const open = useMemo(() => openAtFirst(files), [files]);
  const isSplit = address.diff === 'split';
  if (absent !== null && files.length === 0) return <p class="muted">{absent}</p>;
  return (
    <>
      <Commits diff={diff} />
      {total === 0 && <p class="muted">The agent changed no file.</p>}
      {absent !== null && <p class="note">{absent}</p>}
      {files.length > 0 && (
        <>
          <ul class="diff-list">
            {files.map((file, index) => (
              <li key={index}>
                <a href={agentHash(address, { part: `file-${index}` })}>
                  <Text value={file.path} />
                </a>
                <Sums file={file} />
              </li>
            ))}
            {total > files.length && <li class="muted">and {plural(total - files.length, 'more file')}</li>}
          </ul>
          <p class="patch-tools">
            <a href={agentHash(address, { diff: isSplit ? '' : 'split' })}>
              {isSplit ? 'Show in one column' : 'Show side by side'}
            </a>
            {masked > 0 && (
              <span class="muted">{plural(masked, 'place')} masked, because they look like credentials.</span>
            )}
          </p>
          {files.map((file, index) => (
            <File key={index} id={`file-${index}`} file={file} isOpen={open.has(index)} isSplit={isSplit} />
          ))}
        </>
      )}
      {cut !== null && <p class="note">{cut}</p>}
    </>
  );
}

/** The files of another diff. `prefix` makes their ids unique on the page. */
export function DiffFiles({
  diff,
  prefix,
  isSplit,
}: {
  readonly diff: AgentPage['diff'];
  readonly prefix: string;
  readonly isSplit: boolean;
}) {
  return (
    <>
      {diff.files.map((file, index) => (
        <File key={index} id={`${prefix}-${index}`} file={file} isOpen={diff.files.length === 1} isSplit={isSplit} />
      ))}
      {diff.cut !== null && <p class="note">{diff.cut}</p>}
    </>
  );
}

function Commits({ diff: { commits, commitsTotal } }: { readonly diff: AgentPage['diff'] }) {
  if (!commitsTotal) return null;
  return (
    <ul class="commits">
      {commits.map(({ sha, subject }) => (
        <li key={sha}>
          <code>{sha.slice(0, 9)}</code> <Text value={subject.slice(0, 200)} />
        </li>
      ))}
      {commitsTotal > commits.length && (
        <li class="muted">and {plural(commitsTotal - commits.length, 'more commit')}</li>
      )}
    </ul>
  );
}

const CHANGES = { add: 'new', delete: 'deleted', rename: 'renamed', update: 'changed' } as const;

function Sums({ file: { added, removed, binary, change } }: { readonly file: DiffFile }) {
  return (
    <span class="sums">
      <span class="tag">{CHANGES[change]}</span>
      {binary ? (
        <span class="muted">binary</span>
      ) : (
        <>
          <span class="plus">+{count(added)}</span> <span class="minus">−{count(removed)}</span>
        </>
      )}
    </span>
  );
}

interface FileProps {
  readonly id: string;
  readonly file: DiffFile;
  readonly isOpen: boolean;
  readonly isSplit: boolean;
}

function File({ id, file, isOpen, isSplit }: FileProps) {
  const [isShown, setIsShown] = useState(isOpen);
  const { path, hunks, binary, linesCut } = file;
  return (
    <details
      class="diff-file"
      id={id}
      tabIndex={-1}
      open={isShown}
      onToggle={event => setIsShown(event.currentTarget.open)}
    >
      <summary>
        <code>
          <Text value={path} />
        </code>
        <Sums file={file} />
      </summary>
      {isShown && (
        <div class="patch-box" role="region" tabIndex={0} aria-label={`Changes in ${id.replaceAll('-', ' ')}`}>
          {hunks.length === 0 && linesCut === 0 && (
            <p class="muted">{binary ? 'A binary file has no lines to show.' : 'No line of this file changed.'}</p>
          )}
          {hunks.map((hunk, index) => (
            <Hunk key={index} hunk={hunk} path={path} isSplit={isSplit} />
          ))}
        </div>
      )}
      {isShown && linesCut > 0 && <p class="note">{plural(linesCut, 'line')} left out here.</p>}
    </details>
  );
}

function Hunk({ hunk, path, isSplit }: { readonly hunk: DiffHunk; readonly path: string; readonly isSplit: boolean }) {
  const lines = useMemo(() => linesOf(hunk, path), [hunk, path]);
  return (
    <table class={isSplit ? 'patch split' : 'patch'}>
      {isSplit && (
        <colgroup>
          <col class="narrow" />
          <col />
          <col class="narrow" />
          <col />
        </colgroup>
      )}
      <tbody>
        <tr class="hunk-head">
          <td colSpan={isSplit ? 4 : 3}>
            {hunk.oldFrom === 0
              ? 'New lines'
              : hunk.newFrom === 0
                ? 'Removed lines'
                : `From line ${count(hunk.newFrom)}`}
          </td>
        </tr>
        {isSplit
          ? splitRows(lines).map(({ left, right }, index) => (
              <tr key={index}>
                <Half line={left} side="old" />
                <Half line={right} side="new" />
              </tr>
            ))
          : lines.map((line, index) => (
              <tr key={index} data-sign={line.sign}>
                <td class="number">{line.old ?? ''}</td>
                <td class="number">{line.new ?? ''}</td>
                <Code line={line} />
              </tr>
            ))}
      </tbody>
    </table>
  );
}

function Half({ line, side }: { readonly line: DiffLine | null; readonly side: 'old' | 'new' }) {
  if (!line) return <td class="blank" colSpan={2} />;
  return (
    <>
      <td class="number" data-sign={line.sign}>
        {line[side] ?? ''}
      </td>
      <Code line={line} />
    </>
  );
}

function Code({ line: { sign, tokens } }: { readonly line: DiffLine }) {
  return (
    <td class="code-line" data-sign={sign}>
      <span class="sign">{sign === '-' ? '−' : sign}</span>
      {tokens.map(({ text, kind }, index) => (
        <span key={index} class={kind === 'plain' ? undefined : `tok-${kind}`}>
          <Text value={text} />
        </span>
      ))}
    </td>
  );
}
