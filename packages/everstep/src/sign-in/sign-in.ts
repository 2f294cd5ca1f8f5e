/** Sign-in with the identity provider: starts it, and handles the response of the provider. */
import type { AccountService, StartedSession } from '../accounts/account-service.js';
import type { IdentityLink } from '../accounts/sign-in/identity-rules.js';
import { LIMITS } from '../config/limits.js';
import type { SignInSettings } from '../config/sign-in-settings.js';
import { SIGN_IN_CALLBACK, type SignInError } from '../contract/sign-in.js';
import type { Log } from '../ports/log.js';
import type { AccountStore } from '../ports/stores/account-store.js';
import { KEY_RINGS, KeyRing, keyAt } from '../secrets/key-ring.js';
import type { ProviderFetch } from './bounded-fetch.js';
import { identityOf } from './identity.js';
import { IdentityProvider, ProviderUnavailableError } from './provider.js';
import { type SignInState, seal, unseal } from './sealed-state.js';

export type FailedSignIn = { readonly kind: 'failed'; readonly error: SignInError };

export interface SignIn {
  /** Starts a sign-in. `cookie` is for the browser that is redirected to `url`. */
  begin(request: {
    readonly returnTo: string;
    /** The session whose user links an identity; null for a sign-in. */
    readonly link: IdentityLink | null;
  }): Promise<{ readonly kind: 'started'; readonly url: string; readonly cookie: string } | FailedSignIn>;
  /** Handles the return of the browser with `query`, and `cookie` if it has one. */
  finish(response: {
    readonly query: string;
    readonly cookie: string | null;
    readonly address: string;
    readonly isHttps: boolean;
  }): Promise<({ readonly kind: 'in'; readonly returnTo: string } & StartedSession) | FailedSignIn>;
  /** Returns the URL for signing out of the identity provider; null if the provider does not support it. */
  logoutUrl(): string | null;
}

export interface SignInOptions {
  /** Null if users can only use API keys. */
  readonly settings: SignInSettings | null;
  readonly store: Pick<AccountStore, 'findOrCreateSecret'>;
  readonly accounts: Pick<AccountService, 'signIn' | 'countFailedSignIn' | 'loginWaitMs'>;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
  /** A monotonic clock in ms. */
  readonly elapsedMs: () => number;
  /** URL of the dashboard for users, without a trailing slash. */
  readonly dashboardUrl: () => string;
  /** Sends the requests to the identity provider. Default: `fetch`. */
  readonly send?: ProviderFetch;
  readonly log: Pick<Log, 'warn'>;
}

/** States that were already used, until they expire. A state is accepted only once. */
class UsedStates {
  private readonly expiryByState = new Map<string, number>();

  /** Returns false if the state was used before. */
  use({ state, expiresAt }: SignInState, now: number): boolean {
    for (const [usedState, expiry] of this.expiryByState)
      if (expiry <= now || this.expiryByState.size > LIMITS.maxUsedSignInStates) this.expiryByState.delete(usedState);
    if (this.expiryByState.has(state)) return false;
    this.expiryByState.set(state, expiresAt);
    return true;
  }
}

/** Returns the part of an error that may be logged: its name, message and code. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown';
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : '';
  return `${error.name}: ${error.message}${code}`.slice(0, 300);
};

const isRefusal = (query: string): boolean => new URLSearchParams(query).has('error');

/** Creates the sign-in, or returns null without settings. */
export async function createSignIn(options: SignInOptions): Promise<SignIn | null> {
  const { settings, store, accounts, now, elapsedMs, dashboardUrl, send, log } = options;
  if (!settings) return null;
  const { issuer } = settings;
  const ring = new KeyRing({ accounts: store, name: KEY_RINGS.signIns.name, elapsedMs });
  await ring.keys();
  const redirectUri = () => settings.redirectUrl ?? `${dashboardUrl()}${SIGN_IN_CALLBACK}`;
  const provider = new IdentityProvider({ settings, redirectUri, elapsedMs, ...(send ? { send } : {}) });
  const usedStates = new UsedStates();

  function fail(error: SignInError, cause?: unknown): FailedSignIn {
    log.warn({ issuer, code: error, ...(cause === undefined ? {} : { reason: reasonOf(cause) }) }, 'single sign-on failed');
    return { kind: 'failed', error };
  }

  return {
    async begin({ returnTo, link }) {
      try {
        const checks = await provider.createChecks();
        const url = await provider.authorizationUrl(checks);
        const expiresAt = now() + LIMITS.signInLifeMs;
        return {
          kind: 'started',
          url,
          cookie: seal(keyAt(await ring.keys(), now()), { ...checks, returnTo, link, expiresAt }),
        };
      } catch (error) {
        return fail('sso-unavailable', error instanceof ProviderUnavailableError ? error.cause : error);
      }
    },

    async finish({ query, cookie, address, isHttps }) {
      if (accounts.loginWaitMs({ address }) > 0) return { kind: 'failed', error: 'sso-too-many' };
      const state = cookie === null ? null : unseal(await ring.keys(), cookie, now());
      if (!state || !usedStates.use(state, now())) return fail('sso-expired');
      const { returnTo, link } = state;
      try {
        const identity = identityOf(await provider.fetchClaims(query, state), settings);
        if ('reason' in identity) return fail(identity.reason);
        const result = await accounts.signIn({ identity, policy: settings, address, isHttps, link });
        return result.kind === 'in' ? { ...result, returnTo } : fail(result.reason);
      } catch (error) {
        if (error instanceof ProviderUnavailableError) return fail('sso-unavailable', error.cause);
        accounts.countFailedSignIn({ address });
        return fail(isRefusal(query) ? 'sso-refused' : 'sso-invalid', error);
      }
    },

    logoutUrl: () => provider.logoutUrl(dashboardUrl()),
  };
}
