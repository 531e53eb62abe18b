/** The worker of `CallThread`. Calls the default export of the given module. */
import { parentPort, workerData } from 'node:worker_threads';
import { pathToFileURL } from 'node:url';

const { module } = workerData as { readonly module: string };

// The port queues messages until a listener is attached.
const { default: answer } = (await import(pathToFileURL(module).href)) as { default: (question: unknown) => unknown };

// A rejected answer ends the worker, as a thrown one does.
parentPort?.on('message', async question => parentPort?.postMessage(await answer(question)));
