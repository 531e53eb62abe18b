import { chmodSync, linkSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { Fault } from '../../base/fault.ts';
import { unsafePath } from '../../base/path.ts';
import { OWN_FOLDER } from '../../base/private.ts';
import { SCRIPT_NAME } from '../../contracts/published-script/index.ts';
import { count, matching, record, semver } from '../../contracts/shape.ts';
import { publishedView, scriptCard, scriptListing } from '../../publish/views.ts';
import {
  listScripts,
  offerVersion,
  publishScript,
  rollBackScript,
  withdrawVersion,
} from '../../verbs/publish/publish.ts';
import { type Asker, checkMayRun, type MayRun, scriptCards, scriptSeen } from '../../verbs/publish/script-cards.ts';
import type { Identity } from '../access/identity.ts';
import { allows, isRole } from '../access/roles.ts';
import { idempotencyKey } from '../http/input.ts';
import { type ReceivedForm, receiveForm } from '../http/multipart.ts';
import { madeRun, route } from '../http/route.ts';
import type { Server } from '../http/server.ts';
import { orderKeyOf } from '../orders/order-keys.ts';
import { takeForBody } from '../http/uploads.ts';

const name = () => matching(SCRIPT_NAME, 'the name of a script');
const NOT_THERE = { no_script: 404, no_version: 404, not_offered: 404, foreign_script: 409 } as const;
const UPLOAD_BYTES_MAX = 256 * 1024 ** 2;

/**
 * Admins may run everything. Others need a role or a group that the script names, if it names any. The name of a role
 * never means a group, because a provider may have a group of that name.
 */
function mayRunOf({ role, groups = [] }: Identity): MayRun {
  return who =>
    who === undefined || role === 'admin' || who.some(one => (isRole(one) ? allows(role, one) : groups.includes(one)));
}

const askerOf = (who: Identity): Asker => ({ mayRun: mayRunOf(who), isPublisher: allows(who.role, 'runner') });

const listScriptsRoute = route({
  name: 'listScripts',
  method: 'GET',
  path: '/v1/scripts',
  role: 'user',
  why: 'Lists the scripts that you may run; for those who publish, also every version.',
  gives: record({ scripts: z.array(scriptCard), all: z.nullable(z.array(scriptListing)) }),
  act: (_, { server, who }) => ({
    scripts: scriptCards(server.cwd, mayRunOf(who)),
    all: allows(who.role, 'runner') ? listScripts(server.cwd).scripts : null,
  }),
});

const showScriptRoute = route({
  name: 'showScript',
  method: 'GET',
  path: '/v1/scripts/{name}',
  role: 'user',
  why: 'Shows a script and the inputs of its form; for those who publish, also every version.',
  params: record({ name: name() }),
  gives: record({ script: z.nullable(scriptCard), all: z.nullable(scriptListing) }),
  refuses: NOT_THERE,
  act: ({ params }, { server, who }) => scriptSeen(server.cwd, params.name, askerOf(who)),
});

const publishScriptRoute = route({
  name: 'publishScript',
  method: 'POST',
  path: '/v1/scripts',
  role: 'runner',
  why: 'Publishes a folder: one part per file, named file or program, with its path as the file name.',
  query: record({ draft: z.optional(z.enum(['true', 'false'])) }),
  body: { upload: ['multipart/form-data'], bytesMax: UPLOAD_BYTES_MAX },
  gives: publishedView,
  refuses: {
    unfit_folder: 422,
    no_script_file: 422,
    script_invalid: 422,
    unknown_interpreter: 422,
    version_taken: 409,
    withdrawn: 409,
    script_busy: 409,
    foreign_script: 409,
    too_many_uploads: 429,
  },
  act: async ({ query }, { server, who, request }) => {
    server.checkReady();
    const form = await formOf(request, server, who);
    try {
      const folder = folderOf(form);
      return await publishScript(folder, { cwd: server.cwd, by: who.id, draft: query.draft === 'true' });
    } finally {
      form.drop();
    }
  },
});

async function formOf(request: Request, server: Server, who: Identity): Promise<ReceivedForm> {
  const free = takeForBody(server.largeBodies, who.id, request);
  try {
    return await receiveForm(request, server.home, UPLOAD_BYTES_MAX);
  } finally {
    free();
  }
}

/** Writes the files of an upload to a folder. `publishScript` then checks the folder like one on this machine. */
function folderOf({ files }: ReceivedForm): string {
  const [first] = files;
  if (!first) throw new Fault('invalid_input', 'The form has no file.');
  const folder = path.join(path.dirname(first.file), 'folder');
  mkdirSync(folder, { mode: OWN_FOLDER });
  for (const { field, name: file, file: from } of files) {
    const wrong = unsafePath(file) ?? (file.includes('\\') ? 'has a backslash' : undefined);
    if (wrong !== undefined || Buffer.byteLength(file) > 500)
      throw new Fault('unfit_folder', `The name of a file ${wrong ?? 'is longer than 500 bytes'}.`);
    place(from, path.join(folder, file), field === 'program');
  }
  return folder;
}

function place(from: string, to: string, isProgram: boolean): void {
  try {
    mkdirSync(path.dirname(to), { recursive: true, mode: OWN_FOLDER });
    linkSync(from, to);
    if (isProgram) chmodSync(to, 0o700);
  } catch (cause) {
    throw new Fault('unfit_folder', 'Two files of the form have the same name, or one is also a folder.', { cause });
  }
}

const versionParams = record({ name: name(), version: semver() });

const offerVersionRoute = route({
  name: 'offerVersion',
  method: 'POST',
  path: '/v1/scripts/{name}/versions/{version}/publish',
  role: 'admin',
  why: 'Offers a draft to end users.',
  params: versionParams,
  gives: scriptListing,
  refuses: { ...NOT_THERE, withdrawn: 409, script_busy: 409 },
  act: ({ params }, { server, who }) => offerVersion(params.name, params.version, { cwd: server.cwd, by: who.id }),
});

const withdrawVersionRoute = route({
  name: 'withdrawVersion',
  method: 'POST',
  path: '/v1/scripts/{name}/versions/{version}/withdraw',
  role: 'admin',
  why: 'Withdraws a version, so that no new run uses it.',
  params: versionParams,
  gives: scriptListing,
  refuses: { ...NOT_THERE, script_busy: 409 },
  act: ({ params }, { server, who }) => withdrawVersion(params.name, params.version, { cwd: server.cwd, by: who.id }),
});

const rollBackScriptRoute = route({
  name: 'rollBackScript',
  method: 'POST',
  path: '/v1/scripts/{name}/rollback',
  role: 'admin',
  why: 'Makes the version before the current one current again.',
  params: record({ name: name() }),
  gives: scriptListing,
  refuses: { ...NOT_THERE, no_previous_version: 409, script_busy: 409 },
  act: ({ params }, { server, who }) => rollBackScript(params.name, { cwd: server.cwd, by: who.id }),
});

const runPublishedRoute = route({
  name: 'runPublished',
  method: 'POST',
  path: '/v1/scripts/{name}/runs',
  role: 'user',
  why: 'Runs the current version with a form; a runner can name an earlier one. The same idempotency-key begins one run.',
  params: record({ name: name() }),
  query: record({ version: z.optional(semver()) }),
  body: { upload: ['multipart/form-data'], bytesMax: UPLOAD_BYTES_MAX },
  gives: record({ run_id: z.string(), position: z.nullable(count()) }),
  status: 202,
  refuses: {
    ...NOT_THERE,
    bad_inputs: 422,
    withdrawn: 409,
    version_changed: 409,
    run_exists: 409,
    queue_full: 429,
    too_many_uploads: 429,
    file_too_large: 413,
  },
  made: madeRun,
  act: async ({ params, query }, { server, who, request }) => {
    server.checkReady();
    const key = idempotencyKey(request);
    const check = (): void => checkMayRun(server.cwd, params.name, query.version, askerOf(who));
    // An order that is sent again gets its run, also after its version was replaced.
    if (key === undefined || !server.scripts.knowsKey(who.id, key)) check();
    const form = await formOf(request, server, who);
    try {
      const repeated = form.texts.find(([field], index) => form.texts.findIndex(([one]) => one === field) < index);
      if (repeated) throw new Fault('invalid_input', 'The form has a field twice.');
      const values = Object.fromEntries(form.texts);
      const { version } = query;
      const order = {
        name: params.name,
        values,
        files: form.files,
        by: who.id,
        ...(version !== undefined && { version }),
      };
      const repeat = key === undefined ? undefined : await orderKeyOf(order, key);
      // `check` again, because another version may have become current during the upload.
      return server.scripts.order(order, { repeat, check, quotas: who.quotas });
    } finally {
      form.drop();
    }
  },
});

/** Published scripts: what end users choose from, and what publishers do. */
export const SCRIPT_ROUTES = [
  listScriptsRoute,
  showScriptRoute,
  publishScriptRoute,
  offerVersionRoute,
  withdrawVersionRoute,
  rollBackScriptRoute,
  runPublishedRoute,
];
