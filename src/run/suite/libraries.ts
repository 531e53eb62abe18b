import { createRequire } from 'node:module';
import type * as ajv2020 from 'ajv/dist/2020.js';
import type * as ajv from 'ajv/dist/ajv.js';
import type * as re2 from 're2js';

// Cases are read synchronously and few need these libraries, so load them on demand.
const load = createRequire(import.meta.url);

export function re2Library(): typeof re2 {
  return load('re2js') as typeof re2;
}

/** Supports draft-07. */
export function ajvLibrary(): typeof ajv {
  return load('ajv/dist/ajv.js') as typeof ajv;
}

export function ajv2020Library(): typeof ajv2020 {
  return load('ajv/dist/2020.js') as typeof ajv2020;
}
