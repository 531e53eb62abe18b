/** `node scripts/run.mjs scripts/model-api.ts`: the model API of the tests, for trying an agent by hand. Prints its port. */
import { startModelApi } from '../stand-ins/model-api.ts';

const { port } = await startModelApi();
console.log(port);
