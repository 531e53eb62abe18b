/**
 * `node scripts/run.mjs scripts/model-api.ts`: the model API that the tests use, for trying out an agent manually.
 * Prints its port.
 */
import { startModelApi } from '../stand-ins/model-api.ts';

const { port } = await startModelApi();
console.log(port);
