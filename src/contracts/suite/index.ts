export { cases } from './cases.ts';
export { CODING_KEYS, type CodingKeys, mountIn } from './coding-keys.ts';
export { type Expected, EXPECTATIONS, NOT_JUDGED, OF_AGENT_RUNS } from './expected.ts';
export { groupOf } from './group.ts';
export {
  repetitionId,
  REPETITIONS_MAX,
  rerunId,
  ROUNDS_MAX,
  type SuiteRequest,
  suiteRequest,
  suiteSettingsShape,
} from './request.ts';
export { isInShard, type Shard, SHARDS_MAX, shardSize } from './shard.ts';
export { askedAt, caseUrl, kindName, storesReplies, type SuiteTarget, suiteTargetShape, targetName } from './target.ts';
export { type SuiteReply, suiteReply } from './reply.ts';
export { type SuiteCase, suiteCase, suiteCaseExample } from './suite-case.ts';
