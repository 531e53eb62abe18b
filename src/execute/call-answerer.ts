/** The thread of `CallThread`: answers each question by the function of the module that it is given. */
import { parentPort, workerData } from 'node:worker_threads';
import { pathToFileURL } from 'node:url';

const { module } = workerData as { readonly module: string };

// Questions wait in the port until somebody listens.
const { answer } = (await import(pathToFileURL(module).href)) as { answer: (question: unknown) => unknown };

parentPort?.on('message', question => parentPort?.postMessage(answer(question)));
