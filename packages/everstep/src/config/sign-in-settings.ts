/** Settings of single sign-on with an identity provider (OpenID Connect). */
import type { Setting } from './setting.js';

export const TEAM_ROLES = ['owner', 'admin', 'dev', 'finance'] as const;
export type TeamRole = (typeof TEAM_ROLES)[number];

/** A value of the role claim and the role it grants. */
export type RoleGrant =
  | { readonly value: string; readonly grants: 'operator' }
  | { readonly value: string; readonly grants: TeamRole; readonly teamId: string };

/** Settings of single sign-on. */
export interface SignInSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client, which uses only PKCE. */
  readonly clientSecret: string | null;
  readonly scopes: string;
  /** Name of a claim, or a path with dots; null if claims grant no roles. */
  readonly roleClaim: string | null;
  readonly grants: readonly RoleGrant[];
  /** Allowed email domains. An empty list allows all. */
  readonly domains: readonly string[];
  /** Whether the first sign-in creates a user. */
  readonly createUsers: boolean;
  /** Whether a verified email signs in as the existing user with this email. */
  readonly linkByEmail: boolean;
  /** Null if it is derived from the URL of the dashboard. */
  readonly redirectUrl: string | null;
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;
const GRANT = /^(?<value>[^=,]+)=(?:(?<operator>operator)|(?<team>team_[A-Za-z0-9]+):(?<role>\w+))$/;

/** Returns the URL unchanged, exactly as the identity provider writes it. */
function parseIssuer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isSecure = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  if (!url || !isSecure || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new Error(
      'must be the https URL of the identity provider, such as https://id.example.com (http is allowed only for this machine)',
    );
  return text;
}

function parseRedirectUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new Error('must be an http or https URL without a query or fragment');
  return text;
}

const parseText = (text: string): string => {
  if (text.length > 1_024 || /[^\x20-\x7e]/.test(text)) throw new Error('must be at most 1024 printable ASCII characters');
  return text;
};

function parseScopes(text: string): string {
  const scopes = parseText(text)
    .split(/[\s,]+/)
    .filter(Boolean);
  return [...new Set(['openid', ...scopes])].join(' ');
}

const parseDomains = (text: string): readonly string[] =>
  text.split(',').map((part) => {
    const domain = part.trim().toLowerCase();
    if (!DOMAIN.test(domain)) throw new Error('must be comma-separated domains, such as example.com');
    return domain;
  });

const parseGrants = (text: string): readonly RoleGrant[] =>
  text.split(',').map((part) => {
    const { value = '', operator, team: teamId, role } = GRANT.exec(part.trim())?.groups ?? {};
    if (operator !== undefined) return { value, grants: 'operator' };
    const grantedRole = TEAM_ROLES.find((teamRole) => teamRole === role);
    if (teamId === undefined || grantedRole === undefined)
      throw new Error('must be a list such as admins=operator,devs=team_01ABC:dev; roles are owner, admin, dev and finance');
    return { value, grants: grantedRole, teamId };
  });

function parseSwitch(text: string): boolean {
  if (['1', 'true', 'yes', 'on'].includes(text.toLowerCase())) return true;
  if (['0', 'false', 'no', 'off'].includes(text.toLowerCase())) return false;
  throw new Error('must be true or false');
}

const textSetting = (env: string, flag: string, option: string, help: string, parse = parseText): Setting<string | null> => ({
  ...{ env, flag, option, help, parse },
  defaultText: 'none',
  fallback: () => null,
});
const switchSetting = (env: string, flag: string, option: string, help: string): Setting<boolean> => ({
  ...{ env, flag, option, help },
  defaultText: 'off',
  fallback: () => false,
  parse: parseSwitch,
});

export const SIGN_IN_SETTINGS = {
  oidcIssuer: textSetting(
    'EVERSTEP_OIDC_ISSUER',
    '--oidc-issuer <url>',
    'oidcIssuer',
    'URL of the identity provider (OpenID Connect) for the dashboard',
    parseIssuer,
  ),
  oidcClientId: textSetting(
    'EVERSTEP_OIDC_CLIENT_ID',
    '--oidc-client-id <id>',
    'oidcClientId',
    'client id at the identity provider',
  ),
  oidcClientSecret: textSetting(
    'EVERSTEP_OIDC_CLIENT_SECRET',
    '--oidc-client-secret <secret>',
    'oidcClientSecret',
    'client secret at the identity provider; prefer EVERSTEP_OIDC_CLIENT_SECRET_FILE, because flags are visible in the process list',
  ),
  oidcScopes: {
    ...{ env: 'EVERSTEP_OIDC_SCOPES', flag: '--oidc-scopes <list>', option: 'oidcScopes', parse: parseScopes },
    help: 'requested scopes',
    defaultText: 'openid email profile',
    fallback: () => 'openid email profile',
  },
  oidcRoleClaim: textSetting(
    'EVERSTEP_OIDC_ROLE_CLAIM',
    '--oidc-role-claim <name>',
    'oidcRoleClaim',
    'claim with the roles or groups of the user; use dots for nested claims, such as realm_access.roles',
  ),
  oidcRoles: {
    ...{ env: 'EVERSTEP_OIDC_ROLES', flag: '--oidc-roles <list>', option: 'oidcRoles', parse: parseGrants },
    help: 'roles granted by values of the role claim, such as admins=operator,devs=team_01ABC:dev',
    defaultText: 'none',
    fallback: () => Object.freeze([]),
  },
  oidcDomains: {
    ...{ env: 'EVERSTEP_OIDC_DOMAINS', flag: '--oidc-domains <list>', option: 'oidcDomains', parse: parseDomains },
    help: 'comma-separated domains that emails of users must have',
    defaultText: 'any',
    fallback: () => Object.freeze([]),
  },
  oidcCreateUsers: switchSetting(
    'EVERSTEP_OIDC_CREATE_USERS',
    '--oidc-create-users <switch>',
    'oidcCreateUsers',
    'true: create a user at the first sign-in',
  ),
  oidcLinkByEmail: switchSetting(
    'EVERSTEP_OIDC_LINK_BY_EMAIL',
    '--oidc-link-by-email <switch>',
    'oidcLinkByEmail',
    'true: a verified email signs in as the existing user with this email, including users created by an invitation',
  ),
  oidcRedirectUrl: textSetting(
    'EVERSTEP_OIDC_REDIRECT_URL',
    '--oidc-redirect-url <url>',
    'oidcRedirectUrl',
    'redirect URL that is registered at the identity provider; required if the management API has a separate address and --dashboard-url is not set',
    parseRedirectUrl,
  ),
} satisfies Record<
  string,
  Setting<string | null> | Setting<string> | Setting<boolean> | Setting<readonly string[]> | Setting<readonly RoleGrant[]>
>;

/** Reads the settings; null if no issuer is set. Calls `reportProblem` with a sentence for each error. */
export function readSignIn(
  read: <Value>(setting: Setting<Value>) => Value,
  reportProblem: (sentence: string) => void,
): SignInSettings | null {
  const settings = SIGN_IN_SETTINGS;
  const [issuer, clientId] = [read(settings.oidcIssuer), read(settings.oidcClientId)];
  const grants = read<readonly RoleGrant[]>(settings.oidcRoles);
  const roleClaim = read(settings.oidcRoleClaim);
  if (issuer === null) {
    if (clientId !== null) reportProblem('EVERSTEP_OIDC_CLIENT_ID is set without EVERSTEP_OIDC_ISSUER; set both');
    return null;
  }
  if (clientId === null) reportProblem('EVERSTEP_OIDC_ISSUER is set without EVERSTEP_OIDC_CLIENT_ID; set both');
  if (grants.length > 0 && roleClaim === null)
    reportProblem('EVERSTEP_OIDC_ROLES is set without EVERSTEP_OIDC_ROLE_CLAIM; set the claim that contains the roles');
  return Object.freeze({
    issuer,
    clientId: clientId ?? '',
    clientSecret: read(settings.oidcClientSecret),
    scopes: read(settings.oidcScopes),
    roleClaim,
    grants,
    domains: read<readonly string[]>(settings.oidcDomains),
    createUsers: read(settings.oidcCreateUsers),
    linkByEmail: read(settings.oidcLinkByEmail),
    redirectUrl: read(settings.oidcRedirectUrl),
  });
}
