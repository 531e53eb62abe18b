import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { SuiteReply } from '../../../src/contracts/suite/index.ts';
import type { RunSuiteOptions } from '../../../src/verbs/run-suite.ts';
import { type Ran, ranSuite } from '../../run/suite/support.ts';
import { temporaryFolder } from '../../support/support.ts';
import { type Protocol, ProtocolServer, type Scene } from '../servers/protocol-server.ts';

export const TOKEN = 'tok_4f9a8b7c6d5e';

export interface RanKind extends Ran {
  readonly server: ProtocolServer;
  readonly replies: readonly SuiteReply[];
}

/** Sends one case per scene to a server of the protocol, through a target file. */
export async function ranKind(
  protocol: Protocol,
  scenes: Readonly<Record<string, Scene>>,
  options: Partial<RunSuiteOptions> & { readonly declared?: object } = {},
): Promise<RanKind> {
  const { declared = {}, ...given } = options;
  const server = new ProtocolServer(protocol, scenes);
  const cwd = temporaryFolder();
  const declaration = { ...protocol.declaration(await server.start()), ...declared };
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

function repliesOf({ bytes, run }: Ran): SuiteReply[] {
  if (run.stats?.cases_completed === 0) return [];
  const lines = bytes('assets/replies.ndjson').toString().trim().split('\n');
  return lines.map(line => JSON.parse(line) as SuiteReply);
}
