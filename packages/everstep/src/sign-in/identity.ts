/** Maps the verified claims of the identity provider to an identity and its roles. */
import type { MappedRoles, VerifiedIdentity } from '../accounts/sign-in/identity-rules.js';
import { LIMITS } from '../config/limits.js';
import { type RoleGrant, type SignInSettings, TEAM_ROLES, type TeamRole } from '../config/sign-in-settings.js';
import type { SignInError } from '../contract/sign-in.js';

export type Claims = Readonly<Record<string, unknown>>;

const EMAIL = /^[^\s@<>"(),:;[\]\\\p{Cc}]+@[^\s@<>"(),:;[\]\\\p{Cc}]+$/u;
const MAX_SUBJECT_LENGTH = 255;
const MAX_VALUES = 1_000;

const isObject = (value: unknown): value is Claims => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Finds a claim by its name or by a dotted path. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

/** Returns the texts of a claim. Some identity providers send a single value instead of a list. */
function valuesOf(claim: unknown): ReadonlySet<string> {
  const values: readonly unknown[] = Array.isArray(claim) ? claim.slice(0, MAX_VALUES) : [claim];
  return new Set(values.filter((value): value is string => typeof value === 'string'));
}

/** Returns the roles that the values grant. If a user has several roles in a team, the one with the most rights counts. */
export function mapRoles(values: ReadonlySet<string>, grants: readonly RoleGrant[]): MappedRoles {
  const teams = new Map<string, TeamRole | null>();
  let isOperator: boolean | null = null;
  for (const grant of grants) {
    const isGranted = values.has(grant.value);
    if (grant.grants === 'operator') {
      isOperator = isOperator === true || isGranted;
      continue;
    }
    const currentRole = teams.get(grant.teamId) ?? null;
    const hasMoreRights = currentRole === null || TEAM_ROLES.indexOf(grant.grants) < TEAM_ROLES.indexOf(currentRole);
    teams.set(grant.teamId, isGranted && hasMoreRights ? grant.grants : currentRole);
  }
  return { isOperator, teams };
}

export function identityOf(
  claims: Claims,
  { issuer, roleClaim, grants, domains }: Pick<SignInSettings, 'issuer' | 'roleClaim' | 'grants' | 'domains'>,
): VerifiedIdentity | { readonly reason: SignInError } {
  const { sub, email: rawEmail, email_verified: isVerified } = claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_LENGTH) return { reason: 'sso-invalid' };
  // Some identity providers send this claim as text.
  if (isVerified !== true && isVerified !== 'true') return { reason: 'sso-email-unverified' };
  const email = typeof rawEmail === 'string' ? rawEmail.toLowerCase() : '';
  if (email.length > LIMITS.maxEmailLength || !EMAIL.test(email)) return { reason: 'sso-email-unverified' };
  const domain = email.slice(email.lastIndexOf('@') + 1);
  if (domains.length > 0 && !domains.includes(domain)) return { reason: 'sso-domain' };
  const values = roleClaim === null ? new Set<string>() : valuesOf(claimAt(claims, roleClaim));
  return { issuer, subject: sub, email, roles: mapRoles(values, grants) };
}
