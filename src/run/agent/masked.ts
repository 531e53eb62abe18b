import { Masker, maskingOf } from '../../base/masker.ts';
import type { LeftRunning } from '../../contracts/capture.ts';
import type { PolicyViolation } from '../../contracts/agent-step/index.ts';
import type { ProjectContextNote } from '../../contracts/agent-step/project-context.ts';
import type { WorkspaceStatus } from '../../contracts/workspace/index.ts';
import type { CheckedAgentRun } from './agent.ts';
import type { Door } from '../../execute/model/door.ts';
import { secretsOf } from './model.ts';

/** Removes secrets from a string. */
export type Mask = (text: string) => string;

/** For strings that do not come from the agent's streams. The streams are masked as they are read. */
export function maskOf(ready: Pick<CheckedAgentRun, 'order' | 'model'>, door?: Door): Mask {
  const secrets = [...secretsOf(ready), ...(door ? [door.token] : [])];
  const masking = maskingOf(secrets, ready.order.keepCredentials);
  return text => new Masker(masking).text(text);
}

export function maskedViolation(violation: PolicyViolation, mask: Mask): PolicyViolation {
  const { message, path } = violation;
  return { ...violation, message: mask(message), ...(path !== undefined && { path: mask(path) }) };
}

export function maskedLeft({ processes, programs }: LeftRunning, mask: Mask): LeftRunning {
  return { processes, programs: [...new Set(programs.map(mask))] };
}

/** The agent chooses the names of files and branches, so they may contain secrets. */
export function maskedStatus(status: WorkspaceStatus, mask: Mask): WorkspaceStatus {
  const all = <List extends { readonly listed: readonly string[] }>(list: List): List => ({
    ...list,
    listed: list.listed.map(mask),
  });
  const pathsOf = <Item extends { readonly path: string }>({ listed, ...list }: Listed<Item>): Listed<Item> => ({
    ...list,
    listed: listed.map(item => ({ ...item, path: mask(item.path) })),
  });
  const { base, changed, ignored, left_out, commits, refs, hooks, nested_repositories, submodules } = status;
  return {
    ...status,
    base: { ...base, ref: mask(base.ref) },
    changed: { ...changed, listed: distinct(pathsOf(changed).listed) },
    ignored: all(ignored),
    left_out: pathsOf(left_out),
    commits: maskedCommits(commits, mask),
    refs: { ...refs, listed: refs.listed.map(({ name, ...ref }) => Object.assign(ref, { name: mask(name) })) },
    hooks: all(hooks),
    nested_repositories: all(nested_repositories),
    submodules: pathsOf(submodules),
    links_out: all(status.links_out),
    collisions: all(status.collisions),
    ...(status.needs_review && { needs_review: pathsOf(status.needs_review) }),
    notes: status.notes.map(mask),
  };
}

function maskedCommits(commits: WorkspaceStatus['commits'], mask: Mask): WorkspaceStatus['commits'] {
  const { listed, series } = commits;
  const signature = <Who extends { name: string; email: string }>(who: Who): Who => ({
    ...who,
    name: mask(who.name),
    email: mask(who.email),
  });
  return {
    ...commits,
    listed: listed.map(({ sha, subject }) => ({ sha, subject: mask(subject) })),
    ...(series && {
      series: {
        ...series,
        listed: series.listed.map(({ author, committer, message, ...commit }) =>
          Object.assign(commit, {
            author: signature(author),
            committer: signature(committer),
            message: mask(message),
          }),
        ),
      },
    }),
  };
}

export function maskedContext(context: ProjectContextNote, mask: Mask): ProjectContextNote {
  return { ...context, files: context.files.map(file => ({ ...file, path: mask(file.path) })) };
}

interface Listed<Item> {
  total: number;
  listed: Item[];
}

/** Numbers names that differ only in their secrets, so that they stay distinct. */
function distinct<Item extends { readonly path: string }>(items: readonly Item[]): Item[] {
  const seen = new Map<string, number>();
  return items.map(item => {
    const times = (seen.get(item.path) ?? 0) + 1;
    seen.set(item.path, times);
    return times === 1 || !item.path.includes('[masked]') ? item : { ...item, path: `${item.path} (${times})` };
  });
}
