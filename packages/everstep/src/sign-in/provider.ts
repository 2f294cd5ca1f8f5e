/** The OpenID Connect client for the identity provider: authorization code flow with PKCE, and verified ID tokens. */
import type * as Oidc from 'openid-client';
import { LIMITS } from '../config/limits.js';
import type { SignInSettings } from '../config/sign-in-settings.js';
import { boundedFetch, type ProviderFetch } from './bounded-fetch.js';
import type { Claims } from './identity.js';

const MS_PER_SECOND = 1_000;
/** Cache time of the provider's metadata. */
const FRESH_MS = 60 * 60_000;

/** Values of a sign-in that the response of the identity provider must match. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** The identity provider is currently unavailable. */
export class ProviderUnavailableError extends Error {}

interface DiscoveredProvider {
  readonly oidc: typeof Oidc;
  readonly config: Oidc.Configuration;
  readonly readAt: number;
}

export interface IdentityProviderOptions {
  readonly settings: SignInSettings;
  readonly redirectUri: () => string;
  /** A monotonic clock in ms. */
  readonly elapsedMs: () => number;
  /** Sends the requests to the identity provider. Default: `fetch`. */
  readonly send?: ProviderFetch;
}

export class IdentityProvider {
  private readonly options: IdentityProviderOptions;
  private discovery: Promise<DiscoveredProvider> | null = null;
  /** The latest metadata; null until it is read. */
  private latestProvider: DiscoveredProvider | null = null;

  constructor(options: IdentityProviderOptions) {
    this.options = options;
  }

  /** Creates the random values of a sign-in. */
  async createChecks(): Promise<SignInChecks> {
    const { oidc } = await this.discover();
    return { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() };
  }

  async authorizationUrl({ state, nonce, verifier }: SignInChecks): Promise<string> {
    const { oidc, config } = await this.discover();
    const { settings, redirectUri } = this.options;
    return oidc.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri(),
      scope: settings.scopes,
      response_type: 'code',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    }).href;
  }

  /**
   * Returns the claims of the ID token for the code, completed with claims of the userinfo endpoint. Rejects with
   * ProviderUnavailableError, or with another error if the response is invalid.
   */
  async fetchClaims(query: string, { state, nonce, verifier }: SignInChecks): Promise<Claims> {
    const { oidc, config } = await this.discover();
    const { redirectUri, settings } = this.options;
    const responseUrl = new URL(`${redirectUri()}?${query}`);
    const tokens = await oidc.authorizationCodeGrant(config, responseUrl, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims: Claims = tokens.claims() ?? {};
    const isIncomplete = claims.email === undefined || (settings.roleClaim !== null && !(settings.roleClaim in claims));
    if (!isIncomplete || config.serverMetadata().userinfo_endpoint === undefined) return claims;
    const userInfo = await oidc.fetchUserInfo(config, tokens.access_token, String(claims.sub));
    return { ...userInfo, ...claims };
  }

  /** Returns the URL for signing out of the identity provider; null if the provider does not support it or is not known yet. */
  logoutUrl(returnTo: string): string | null {
    if (this.latestProvider?.config.serverMetadata().end_session_endpoint === undefined) return null;
    const { oidc, config } = this.latestProvider;
    return oidc.buildEndSessionUrl(config, { post_logout_redirect_uri: returnTo }).href;
  }

  private async discover(): Promise<DiscoveredProvider> {
    const cachedProvider = await this.discovery?.catch(() => null);
    if (cachedProvider && this.options.elapsedMs() - cachedProvider.readAt < FRESH_MS) return cachedProvider;
    this.discovery = this.readMetadata();
    try {
      this.latestProvider = await this.discovery;
      return this.latestProvider;
    } catch (error) {
      // Outdated metadata is better than none.
      if (this.latestProvider) return this.latestProvider;
      throw new ProviderUnavailableError('the identity provider is unavailable', { cause: error });
    }
  }

  private async readMetadata(): Promise<DiscoveredProvider> {
    // Loaded on demand, so that a server without single sign-on starts faster.
    const oidc = await import('openid-client');
    const { settings, send } = this.options;
    const { issuer, clientId, clientSecret } = settings;
    const bounds = { timeoutMs: LIMITS.identityProviderTimeoutMs, maxBytes: LIMITS.maxIdentityProviderBytes };
    const fetchBounded = boundedFetch(bounds, send);
    const authentication = clientSecret === null ? oidc.None() : oidc.ClientSecretPost(clientSecret);
    const config = await oidc.discovery(new URL(issuer), clientId, {}, authentication, {
      execute: issuer.startsWith('http:') ? [oidc.allowInsecureRequests] : [],
      timeout: LIMITS.identityProviderTimeoutMs / MS_PER_SECOND,
      // The body is text or parameters, which every fetch accepts.
      [oidc.customFetch]: (url, options) => fetchBounded(url, options as RequestInit),
    });
    // Also verifies signatures of ID tokens, although they are received directly from the identity provider.
    oidc.enableNonRepudiationChecks(config);
    return { oidc, config, readAt: this.options.elapsedMs() };
  }
}
