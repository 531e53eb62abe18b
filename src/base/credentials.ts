import {
  ALNUM,
  BASE64,
  beginsAt,
  canBegin,
  DASH,
  DOT,
  endOf,
  isIn,
  isMixed,
  isOf,
  LOW_LINE,
  MARKS,
  type Match,
  PLUS,
  startsAt,
  TOKEN,
  UPPER,
  WORD,
  WORD_DASH,
} from './credential-bytes.ts';
import { authorization, connection, jsonWebToken, namedValue } from './credential-forms.ts';
import { privateKey } from './credential-pem.ts';

/** A kind of credential and how to recognize it. */
interface Credential {
  readonly kind: string;
  /** Prefixes of at least four bytes, so that one search finds all forms. */
  readonly anchors: readonly string[];
  /**
   * Runs in time proportional to the match, or in constant time. Two anchors never cause two reads of the same
   * credential.
   */
  match(bytes: Buffer, at: number): Match | undefined;
}

interface Prefixed {
  readonly sets: number;
  readonly min: number;
  readonly max?: number;
  /** It must contain a digit or an uppercase letter. */
  readonly mixed?: true;
  /** No word character may precede it. */
  readonly apart?: true;
  /** Exactly `min` bytes. */
  readonly exact?: true;
}

/** A fixed prefix followed by `min` to `max` bytes of a set. */
function prefixed(kind: string, prefixes: readonly string[], form: Prefixed): Credential {
  const { sets, min, max = min, mixed, apart, exact } = form;
  const find = (bytes: Buffer, at: number, prefix: string): Match | undefined => {
    if (apart && !canBegin(bytes, at, sets | LOW_LINE)) return undefined;
    if (!startsAt(bytes, at, prefix)) {
      return beginsAt(bytes, at, prefix) ? { from: at, to: at, isOpen: true } : undefined;
    }
    const begin = at + prefix.length;
    // Only a value that is long enough is read to its end. It is then masked and never read again.
    const least = endOf(bytes, begin, sets, min);
    if (least - begin < min) return least === bytes.length ? { from: at, to: at, isOpen: true } : undefined;
    const to = endOf(bytes, begin, sets, exact ? min + 1 : max);
    const isOpen = to === bytes.length && to - begin < (exact ? min + 1 : max);
    if (exact && (to - begin > min || isOf(bytes, to, WORD))) return undefined;
    if (mixed && !isMixed(bytes, begin, to)) return isOpen ? { from: at, to: at, isOpen } : undefined;
    return { from: at, to, isOpen };
  };
  return {
    kind,
    anchors: prefixes.flatMap(prefix => anchorsOf(prefix, sets)),
    match: (bytes, at) => longest(prefixes.map(prefix => find(bytes, at, prefix))),
  };
}

function longest(matches: readonly (Match | undefined)[]): Match | undefined {
  let best: Match | undefined;
  for (const match of matches) if (match && (!best || match.to > best.to)) best = match;
  return best;
}

/** A prefix of fewer than four bytes is extended with every byte that can follow. */
function anchorsOf(prefix: string, sets: number): string[] {
  if (prefix.length >= ANCHOR_LENGTH) return [prefix];
  const anchors: string[] = [];
  for (let byte = 0x21; byte < 0x7f; byte++) {
    if (isIn(byte, sets)) anchors.push(prefix + String.fromCharCode(byte));
  }
  return anchors.flatMap(anchor => anchorsOf(anchor, sets));
}

const ANCHOR_LENGTH = 4;

/** Well-known credentials. Evidence counts masked ranges by these kinds. */
export const CREDENTIALS: readonly Credential[] = [
  prefixed('anthropic_key', ['sk-ant-'], { sets: WORD_DASH, min: 16, max: 250, apart: true }),
  prefixed('openai_key', ['sk-'], { sets: WORD_DASH, min: 16, max: 250, mixed: true, apart: true }),
  prefixed('aws_access_key', ['AKIA', 'ASIA', 'AGPA', 'AIDA', 'AROA', 'AIPA', 'ANPA', 'ANVA'], {
    sets: UPPER,
    min: 16,
    apart: true,
    exact: true,
  }),
  prefixed('aws_access_key', ['A3T'], { sets: UPPER, min: 17, apart: true, exact: true }),
  namedValue('aws_secret_key', ['SECRET', 'secret', 'Secret'], ['access', 'key'], { sets: BASE64, min: 40, max: 40 }),
  prefixed('github_token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], { sets: WORD, min: 20, max: 255 }),
  prefixed('github_token', ['github_pat_'], { sets: WORD, min: 20, max: 255 }),
  prefixed('gitlab_token', ['glpat-', 'gldt-', 'glrt-', 'glptt-', 'glcbt-', 'glsoat-'], {
    sets: WORD_DASH | DOT,
    min: 16,
    max: 300,
  }),
  prefixed('slack_token', ['xoxa-', 'xoxb-', 'xoxe-', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-', 'xoxc-', 'xoxd-', 'xapp-'], {
    sets: ALNUM | DASH,
    min: 11,
    max: 300,
  }),
  prefixed('slack_webhook', ['hooks.slack.com/services/'], { sets: ALNUM | PLUS, min: 12, max: 200 }),
  prefixed('stripe_key', ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'whsec_'], {
    sets: ALNUM,
    min: 16,
    max: 250,
  }),
  prefixed('google_key', ['AIza'], { sets: WORD_DASH, min: 35, apart: true }),
  prefixed('google_key', ['GOCSPX-'], { sets: WORD_DASH, min: 20, max: 60 }),
  prefixed('google_token', ['ya29.'], { sets: WORD_DASH, min: 20, max: 2_000, apart: true }),
  prefixed('npm_token', ['npm_'], { sets: WORD, min: 36, exact: true, mixed: true }),
  namedValue('npm_token', ['_authToken', '_auth', '_password'], [], { sets: TOKEN | MARKS, min: 10, max: 500 }),
  prefixed('pypi_token', ['pypi-AgE'], { sets: WORD_DASH, min: 30, max: 500 }),
  prefixed('huggingface_token', ['hf_'], { sets: ALNUM, min: 30, max: 60, mixed: true, apart: true }),
  prefixed('sendgrid_key', ['SG.'], { sets: WORD_DASH | DOT, min: 20, max: 300, mixed: true, apart: true }),
  prefixed('shopify_token', ['shppa_', 'shpca_', 'shpat_', 'shpss_'], { sets: ALNUM, min: 32, max: 64 }),
  prefixed('linear_key', ['lin_api_'], { sets: WORD, min: 32, max: 128 }),
  prefixed('onepassword_token', ['ops_ey'], { sets: BASE64 | LOW_LINE | DASH, min: 40, max: 2_000 }),
  prefixed('digitalocean_token', ['dop_v1_', 'doo_v1_', 'dor_v1_'], { sets: ALNUM, min: 40, max: 80 }),
  prefixed('docker_token', ['dckr_pat_'], { sets: WORD_DASH, min: 20, max: 80 }),
  prefixed('vault_token', ['hvs.', 'hvb.'], { sets: WORD_DASH, min: 20, max: 300, apart: true }),
  prefixed('grafana_token', ['glsa_', 'glc_eyJ'], { sets: BASE64 | LOW_LINE, min: 32, max: 400 }),
  prefixed('databricks_token', ['dapi'], { sets: ALNUM | DASH, min: 32, max: 40, mixed: true, apart: true }),
  prefixed('groq_key', ['gsk_'], { sets: ALNUM, min: 40, max: 80, apart: true }),
  prefixed('xai_key', ['xai-'], { sets: ALNUM, min: 60, max: 120, apart: true }),
  prefixed('age_key', ['AGE-SECRET-KEY-1'], { sets: ALNUM, min: 40, max: 80 }),
  prefixed('proctor_token', ['pt_'], { sets: ALNUM, min: 49, apart: true, exact: true }),
  jsonWebToken,
  authorization,
  connection,
  privateKey,
];
