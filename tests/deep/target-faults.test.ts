import { expect, test } from 'vitest';
import { drips, hangs, type Seen, sending } from '../run/suite/agent.ts';
import { DOCUMENT_FAULTS, WIRE_FAULTS } from '../run/suite/faults.ts';
import { expectValid } from '../run/suite/support.ts';
import type { Asked, Protocol, Scene } from '../targets/servers/protocol-server.ts';
import { PROTOCOLS } from '../targets/conformance/kinds.ts';
import { ranKind } from '../targets/conformance/world.ts';

test.each(PROTOCOLS.map(protocol => [protocol.name, protocol] as const))(
  'every fault gets its expected class over %s',
  async (_, protocol) => {
    const faults = faultsOf(protocol);
    const scenes = Object.fromEntries(faults.map(({ id, scene }) => [id, scene]));
    const { folder, artifact, run } = await ranKind(protocol, { ...scenes, fine: { text: 'All is well.' } });
    const classes = Object.fromEntries(faults.map(({ id }) => [id, artifact(id).runner_failure?.class]));
    expect(classes).toEqual(Object.fromEntries(faults.map(({ id, errorClass }) => [id, errorClass])));
    expect(artifact('fine').final_output?.content).toBe('All is well.');
    expect(run.stats).toMatchObject({ cases_completed: 1, cases_failed: faults.length });
    await expectValid(folder);
  },
);

test('an agent that hangs, drips or falls silent is stopped by a time limit over every HTTP protocol', async () => {
  const silent: Scene = response => void response.writeHead(200).write('{"case_id":');
  // All at once, because they only wait. The limits leave time for earlier requests on a busy machine.
  await Promise.all(
    PROTOCOLS.map(async protocol => {
      const late = { hangs: sceneOf('hangs', hangs), drips: sceneOf('drips', drips) };
      const [stopped, idle] = await Promise.all([
        ranKind(protocol, late, { timeoutMs: 6_000 }),
        ranKind(protocol, { silent }, { idleMs: 3_000 }),
      ]);
      for (const id of Object.keys(late)) {
        expect(stopped.artifact(id).runner_failure?.class, `${protocol.name} ${id}`).toBe('timeout');
      }
      const { runner_failure: failure } = idle.artifact('silent');
      expect(failure, protocol.name).toMatchObject({ class: 'timeout', error_name: 'IDLE' });
      await expectValid(stopped.folder);
      await expectValid(idle.folder);
    }),
  );
});

interface FaultScene {
  readonly id: string;
  readonly scene: Scene;
  readonly errorClass: string;
}

function faultsOf({ framed }: Protocol): FaultScene[] {
  const documents = DOCUMENT_FAULTS.map(
    ([what, document, errorClass]) => [what, sending(framed(document)), errorClass] as const,
  );
  return [...WIRE_FAULTS, ...documents].map(([what, behaviour, errorClass]) => {
    const id = what.replaceAll(' ', '-');
    return { id, scene: sceneOf(id, behaviour), errorClass };
  });
}

type Behaviour = (typeof WIRE_FAULTS)[number][1];

/** The behaviours were written for Proctor's own protocol, so they get a question in that form. */
function sceneOf(id: string, behaviour: Behaviour): Scene {
  return (response, { headers, path }: Asked) => {
    const body = { case_id: id, version: 'baseline', input: { user: id } };
    const seen: Seen = { caseId: id, headers, body, url: path };
    behaviour(seen, response, 1);
  };
}
