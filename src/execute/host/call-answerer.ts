/** The worker of `CallThread`. Calls the `answer` function of the given module. */
import { parentPort, workerData } from 'node:worker_threads';
import { pathToFileURL } from 'node:url';

const { module } = workerData as { readonly module: string };

// The port queues messages until a listener is attached.
const { answer } = (await import(pathToFileURL(module).href)) as { answer: (question: unknown) => unknown };

parentPort?.on('message', question => parentPort?.postMessage(answer(question)));
