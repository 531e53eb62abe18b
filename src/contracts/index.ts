export { catalogue, contractNames, loadContracts } from './catalogue.ts';
export type { Findings, Violation } from './check.ts';
export { check } from './check.ts';
export type { Claim } from './claim.ts';
export type { Contract } from './contract.ts';
export type { Context, Finding, Rule } from './rule.ts';
export { type JsonSchema, jsonSchema } from './json-schema.ts';
export { builtInProfiles, type Profile } from './profile/index.ts';
export { runner, type Runner } from './runner/index.ts';
