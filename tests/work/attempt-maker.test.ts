import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { Fault } from '../../src/base/fault.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { type PublishedRequest, publishedRequest } from '../../src/contracts/published-request/index.ts';
import { PUBLISHED_PROTOCOL } from '../../src/run/suite/attempt-question.ts';
import { PUBLISHED_NEEDS } from '../../src/run/suite/published-question.ts';
import { FolderStore } from '../../src/store/folder.ts';
import { AttemptMaker, type Made } from '../../src/work/attempt-maker.ts';
import { WorkerTargets } from '../../src/work/worker-targets.ts';
import { testReporter } from '../run/suite/queue-world.ts';
import { temporaryFolder } from '../support/support.ts';

/** What a worker makes of a run of a published script that it cannot open. */
async function madeAfter(failure: Error): Promise<Made> {
  const request = publishedRequest.example as PublishedRequest;
  const bytes = Buffer.from(canonicalize(request));
  const ask = bytesHash(bytes);
  const store = new FolderStore(temporaryFolder());
  await store.put(ask, Readable.from([bytes]), bytes.length);
  const targets = new WorkerTargets(() => Promise.reject(failure), 1);
  const { signal } = new AbortController();
  const maker = new AttemptMaker({ ...testReporter(), store }, targets, () => Promise.reject(failure), signal);
  const { key, run_id: runId, published } = request;
  return maker.make({
    claim: {
      id: 'c1',
      worker: 'test',
      begunAtMs: 0,
      beatWithinMs: 10_000,
      request: {
        key,
        runId,
        protocol: PUBLISHED_PROTOCOL,
        needs: PUBLISHED_NEEDS,
        script: { sha256: published.digest, network: 'blocked' },
        priority: 0,
        timeoutMs: 1_000,
        ask,
      },
    },
    signal,
    stopped: undefined,
  });
}

const systemError = (code: string): Error => Object.assign(new Error(code), { code });

describe('a worker that cannot open a run hands it back', () => {
  const ofTheRun: readonly Error[] = [
    new Fault('no_script_file', 'The folder has no script.yaml.'),
    new Fault('folder_failed', 'The folder of the run already exists.'),
    new Fault('a_fault_that_is_new', 'Something is wrong with the run.'),
    new Fault('stage_failed', 'A write root has the path of a staged file.', { cause: systemError('EEXIST') }),
    new Fault('store_rights', 'The blob could not be read.', { cause: systemError('EACCES') }),
    new Fault('stage_failed', 'a.txt could not be copied for the run.', { cause: systemError('ENOSPC') }),
    systemError('ENOSPC'),
    new TypeError('undefined is not a function'),
  ];
  test.each(ofTheRun)('and goes on with others after %s', async error => {
    const { end, unable } = await madeAfter(error);
    expect(end).toMatchObject({ is: 'handed_back' });
    expect(unable).toBeUndefined();
  });

  const ofTheMachine: readonly Error[] = [
    new Fault('sandbox_unavailable', 'The sandbox does not start on this machine.'),
    new Fault('sandbox_leaks', 'The sandbox does not isolate programs on this machine.'),
    new Fault('stage_failed', 'The folder for temporary files is not writable.', { cause: systemError('EROFS') }),
    new Fault('lock_failed', 'Proctor cannot write to its state folder.', { cause: systemError('EROFS') }),
    new Fault('folder_failed', 'The folder of the run could not be created.', { cause: systemError('ENOSPC') }),
    new Fault('journal_failed', "The run's journal could not be written.", { cause: systemError('EDQUOT') }),
    new Fault('disk_full', 'The disk is full.'),
    systemError('EACCES'),
  ];
  test.each(ofTheMachine)('and makes no more of them after %s', async error => {
    const { end, unable } = await madeAfter(error);
    expect(end).toMatchObject({ is: 'handed_back', why: unable });
    expect(unable).toBeTypeOf('string');
  });
});
