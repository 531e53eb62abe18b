import { createRequire } from 'node:module';
import type * as ajv2020 from 'ajv/dist/2020.js';
import type * as ajv from 'ajv/dist/ajv.js';
import type * as re2 from 're2js';

// Cases are handed over by a function that does not wait, so what few of them need is required when it is needed.
const load = createRequire(import.meta.url);

export function re2Library(): typeof re2 {
  return load('re2js') as typeof re2;
}

/** Knows draft-07. */
export function ajvLibrary(): typeof ajv {
  return load('ajv/dist/ajv.js') as typeof ajv;
}

export function ajv2020Library(): typeof ajv2020 {
  return load('ajv/dist/2020.js') as typeof ajv2020;
}
