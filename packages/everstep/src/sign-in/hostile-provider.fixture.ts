/** An identity provider for tests that can send invalid responses. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';

export const CLIENT_ID = 'everstep';

type Claims = Record<string, unknown>;

export interface Overrides {
  /** Claims that add to or replace the valid ones. Undefined removes a claim. */
  readonly claims?: Claims;
  /** `none` omits the signature. `other` signs with a key that the provider does not publish. */
  readonly signature?: 'none' | 'other';
  /** Body of the token endpoint that replaces the tokens. */
  readonly body?: string;
  readonly issuer?: string;
}

export interface HostileProvider {
  readonly issuer: string;
  overrides: Overrides;
  /** Parameters of the requests to the token endpoint. */
  readonly tokenRequests: URLSearchParams[];
  /** Handles an authorization request: returns the query with which the browser returns. */
  authorize(url: string): string;
  close(): Promise<void>;
}

export async function openHostileProvider(): Promise<HostileProvider> {
  const [publishedKeys, unpublishedKeys] = [await generateKeyPair('RS256'), await generateKeyPair('RS256')];
  const jwk = { ...(await exportJWK(publishedKeys.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const nonces = new Map<string, string>();
  const tokenRequests: URLSearchParams[] = [];
  let codes = 0;

  async function idToken(code: string): Promise<string> {
    const { claims = {}, signature } = provider.overrides;
    const now = Math.floor(Date.now() / 1000);
    const validClaims: Claims = {
      ...{ iss: provider.issuer, aud: CLIENT_ID, sub: 'subject-1', iat: now, exp: now + 60, nonce: nonces.get(code) },
      ...{ email: 'ann@corp.test', email_verified: true },
    };
    const payload = Object.fromEntries(Object.entries({ ...validClaims, ...claims }).filter(([, value]) => value !== undefined));
    if (signature === 'none') return new UnsecuredJWT(payload).encode();
    const key = signature === 'other' ? unpublishedKeys.privateKey : publishedKeys.privateKey;
    return new SignJWT(payload).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(key);
  }

  async function respond(request: IncomingMessage): Promise<string> {
    const { issuer } = provider;
    switch (request.url) {
      case '/.well-known/openid-configuration':
        return JSON.stringify({
          ...{
            issuer: provider.overrides.issuer ?? issuer,
            authorization_endpoint: `${issuer}/authorize`,
            jwks_uri: `${issuer}/jwks`,
          },
          ...{ token_endpoint: `${issuer}/token`, end_session_endpoint: `${issuer}/logout` },
          ...{ id_token_signing_alg_values_supported: ['RS256'], response_types_supported: ['code'] },
          ...{ subject_types_supported: ['public'], authorization_response_iss_parameter_supported: true },
        });
      case '/jwks':
        return JSON.stringify({ keys: [jwk] });
      default: {
        const parameters = new URLSearchParams(await readText(request));
        tokenRequests.push(parameters);
        if (provider.overrides.body !== undefined) return provider.overrides.body;
        const id_token = await idToken(parameters.get('code') ?? '');
        return JSON.stringify({ access_token: 'at', token_type: 'Bearer', expires_in: 60, id_token });
      }
    }
  }

  const server = createServer((request, response) => {
    void respond(request).then((body) => response.writeHead(200, { 'content-type': 'application/json' }).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const provider: HostileProvider = {
    issuer: `http://127.0.0.1:${port}`,
    overrides: {},
    tokenRequests,
    authorize(url) {
      const { searchParams } = new URL(url);
      const code = `code-${++codes}`;
      nonces.set(code, searchParams.get('nonce') ?? '');
      return new URLSearchParams({ code, state: searchParams.get('state') ?? '', iss: provider.issuer }).toString();
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return provider;
}
