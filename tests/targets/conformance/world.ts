import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { SuiteReply } from '../../../src/contracts/suite/index.ts';
import type { RunSuiteOptions } from '../../../src/verbs/run-suite.ts';
import { type Ran, ranSuite } from '../../run/suite/support.ts';
import { temporaryFolder } from '../../support/support.ts';
import type { OwnTransport, Stage, Told } from '../servers/kind.ts';
import { type Protocol, ProtocolServer, type Scene } from '../servers/protocol-server.ts';

export const TOKEN = 'tok_4f9a8b7c6d5e';

export interface RanKind extends Ran {
  readonly server: Stage;
  readonly replies: readonly SuiteReply[];
}

type Scenes<One> = Readonly<Record<string, One extends Protocol ? Scene : Told>>;

type KindOptions = Partial<RunSuiteOptions> & { readonly declared?: object };

/** Sends one case per scene to an agent of the kind, through a target file. */
export async function ranKind<One extends Protocol | OwnTransport>(
  kind: One,
  scenes: Scenes<One>,
  { declared = {}, ...given }: KindOptions = {},
): Promise<RanKind> {
  const server = stageFor(kind, scenes);
  const cwd = temporaryFolder();
  const declaration = { ...kind.declaration(await server.start(cwd)), ...declared };
  writeFileSync(path.join(cwd, 'desk.json'), JSON.stringify(declaration));
  const cases = Object.keys(scenes).map(id => ({ id, input: { user: `${id} please`, context: { locale: 'en' } } }));
  const ran = await ranSuite(cases, {
    target: 'desk.json',
    environment: { AGENT_TOKEN: TOKEN },
    breakerFailures: 0,
    concurrency: 8,
    ...given,
    cwd,
  });
  return { ...ran, server, replies: repliesOf(ran) };
}

export function stageFor<One extends Protocol | OwnTransport>(kind: One, scenes: Scenes<One>): Stage {
  return 'stage' in kind ? kind.stage(scenes as Readonly<Record<string, Told>>) : new ProtocolServer(kind, scenes);
}

function repliesOf({ bytes, run }: Ran): SuiteReply[] {
  if (run.stats?.cases_completed === 0) return [];
  const lines = bytes('assets/replies.ndjson').toString().trim().split('\n');
  return lines.map(line => JSON.parse(line) as SuiteReply);
}
