import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { GROUP_NAME } from '../../contracts/published-script/index.ts';
import { allows, isRole, type ServerRole } from './roles.ts';

/** Gives a role to the people of a group, of an email domain, or with one email address. */
export interface OidcRoleRule {
  readonly role: ServerRole;
  readonly claim: 'group' | 'domain' | 'email';
  readonly value: string;
}

/** Reads `admin=group:ops`, `runner=domain:example.com` or `viewer=email:a@example.com`. */
export function parseRoleRule(text: string): OidcRoleRule {
  const [, role = '', claim = '', value = ''] = /^([a-z]+)=(group|domain|email):(.{1,200})$/.exec(text) ?? [];
  if (!isRole(role) || role === 'worker') {
    throw new Fault(
      'usage',
      `--oidc-role ${printable(text)} is not a rule. Write ROLE=group:NAME, ROLE=domain:NAME or ROLE=email:ADDRESS, with the role user, viewer, runner or admin.`,
    );
  }
  const isName = claim === 'group';
  return { role, claim: claim as OidcRoleRule['claim'], value: isName ? value : value.toLowerCase() };
}

/** The highest role that the claims of a person give; the default if none does. */
export function roleOfClaims<Default extends ServerRole | undefined>(
  claims: Readonly<Record<string, unknown>>,
  rules: readonly OidcRoleRule[],
  standard: Default,
): ServerRole | Default {
  let best: ServerRole | Default = standard;
  for (const rule of rules) {
    if (holds(rule, claims) && (best === undefined || allows(rule.role, best))) best = rule.role;
  }
  return best;
}

/** The groups of a person that `who` in script.yaml can name. */
export function groupsOfClaims({ groups }: Readonly<Record<string, unknown>>): string[] {
  if (!Array.isArray(groups) || groups.length > GROUPS_MAX) return [];
  const named = groups.filter((one): one is string => typeof one === 'string' && GROUP_NAME.test(one));
  return [...new Set(named)].slice(0, GROUPS_KEPT_MAX);
}

function holds({ claim, value }: OidcRoleRule, claims: Readonly<Record<string, unknown>>): boolean {
  if (claim === 'group') {
    const { groups } = claims;
    return Array.isArray(groups) && groups.length <= GROUPS_MAX && groups.includes(value);
  }
  const email = verifiedEmail(claims);
  if (email === undefined) return false;
  return claim === 'email' ? email === value : email.slice(email.lastIndexOf('@') + 1) === value;
}

/** An address that the provider has not verified could be anyone's. */
export function verifiedEmail({
  email,
  email_verified: isVerified,
}: Readonly<Record<string, unknown>>): string | undefined {
  if (isVerified !== true || typeof email !== 'string') return undefined;
  return /^[\x21-\x7e]{1,64}@[\x21-\x3f\x41-\x7e]{1,190}$/.test(email) ? email.toLowerCase() : undefined;
}

const GROUPS_MAX = 1_000;
/** A session stores them. */
const GROUPS_KEPT_MAX = 250;
