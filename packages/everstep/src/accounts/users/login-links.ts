/**
 * One-time login links, which `everstep dev` prints: the secret in the link logs the first user in once, without typing an API
 * key. Links exist only in the memory of this process, so a restart revokes them.
 */
import { createHash } from 'node:crypto';
import { LIMITS } from '../../config/limits.js';
import type { Random } from '../../ports/random.js';

export interface LoginCredential {
  readonly email: string;
  readonly apiKey: string;
}

/** Format of a secret. The login page recognizes the prefix. */
const SECRET = /^lnk_[A-Za-z0-9_-]{43}$/;
const SECRET_BYTES = 32;

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

interface ActiveLink {
  readonly secretHash: string;
  readonly credential: LoginCredential;
  /** Expiry, on the clock of `elapsedMs`. */
  readonly expiresAtMs: number;
}

export class LoginLinks {
  private readonly elapsedMs: () => number;
  private readonly random: Random;
  private activeLink: ActiveLink | null = null;

  /** @param elapsedMs a clock that never moves backwards, in ms */
  constructor(elapsedMs: () => number, random: Random) {
    this.elapsedMs = elapsedMs;
    this.random = random;
  }

  /** Creates a link, which replaces the previous link, and returns its secret. */
  create(credential: LoginCredential): string {
    const secret = `lnk_${Buffer.from(this.random.bytes(SECRET_BYTES)).toString('base64url')}`;
    this.activeLink = { secretHash: hashOf(secret), credential, expiresAtMs: this.elapsedMs() + LIMITS.loginLinkMs };
    return secret;
  }

  /** Returns the URL of the login page with the secret of a new link; null without a user. `dashboardUrl` has no trailing slash. */
  pageUrl(dashboardUrl: string, user: { readonly adminEmail: string; readonly adminApiKey: string } | null): string | null {
    if (user === null) return null;
    // Browsers do not send the fragment, so the secret is in no access log.
    return `${dashboardUrl}/login#${this.create({ email: user.adminEmail, apiKey: user.adminApiKey })}`;
  }

  /** Returns the credential of the link and revokes the link; null if the secret is invalid, used or expired. */
  use(secret: string): LoginCredential | null {
    const { activeLink } = this;
    if (activeLink === null || !SECRET.test(secret) || hashOf(secret) !== activeLink.secretHash) return null;
    this.activeLink = null;
    return this.elapsedMs() < activeLink.expiresAtMs ? activeLink.credential : null;
  }
}
