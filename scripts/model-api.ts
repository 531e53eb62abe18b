/**
 * `node scripts/run.mjs scripts/model-api.ts`: the model API that the tests use, for trying out an agent manually.
 * Prints its port. The models `solver` and `sloppy` work on the tasks in examples/coding.
 */
import { codingModels } from '../stand-ins/coding-models.ts';
import { startModelApi } from '../stand-ins/model-api.ts';

const { port } = await startModelApi(codingModels());
console.log(port);
