/** Operations of single sign-on. Browsers follow redirects to the identity provider and back. */
import { LIMITS } from '../../config/limits.js';
import { ApiError } from '../../contract/error-codes.js';
import { Redirected, SIGN_IN_CALLBACK, type SignInError, SignInMethods } from '../../contract/sign-in.js';
import type { SignIn } from '../../sign-in/sign-in.js';
import { notAudited } from '../audited/audit-rule.js';
import { type ApiContext, type Operation, openOperation, respond, sessionOperation } from '../operation.js';
import { setCookie } from '../sessions/cookie.js';
import { clearSignInCookie, setSignInCookie, signInCookieOf } from '../sessions/sign-in-cookie.js';

const TAG = 'Session';
const ERROR_PARAMETER = 'sign-in-error';
/** Path on this origin. Excludes paths that browsers interpret as another host, such as `//host`. */
const OWN_PATH = /^\/(?![/\\])[\w\-.~!$&'()*+,;=:@%/?]*$/;

const redirectTo = (location: string, cookies: string) =>
  respond(303, { location }, { location, 'set-cookie': cookies, 'referrer-policy': 'no-referrer' });

const loginPageOf = (error: SignInError): string => `/login?${ERROR_PARAMETER}=${error}`;

const returnPathOf = (path: string | null): string =>
  path !== null && path.length <= LIMITS.maxReturnPathLength && OWN_PATH.test(path) ? path : '/';

function requireSignIn({ signIn }: ApiContext): SignIn {
  if (signIn) return signIn;
  throw new ApiError(
    'not-found',
    'single sign-on is not configured on this server; the operator can enable it with EVERSTEP_OIDC_ISSUER',
  );
}

const getSignInMethods = openOperation({
  operationId: 'getSignInMethods',
  tag: TAG,
  summary: 'List the sign-in methods',
  description: 'Returns how users can sign in to this installation. Requires no authentication.',
  method: 'GET',
  path: '/v2/session/methods',
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  responses: { 200: SignInMethods },
  errors: [],
  handle: (_input, { signIn }) => respond(200, { sso: signIn !== null }),
});

const startSignIn = openOperation({
  operationId: 'startSignIn',
  tag: TAG,
  summary: 'Sign in with the identity provider',
  description:
    'For browsers. Redirects to the identity provider, which redirects back to `/v2/session/sso/callback`. The query parameter `return` is the path of the page to show afterwards. On failure, redirects to the sign-in page with an error code in the query parameter `sign-in-error`.',
  method: 'GET',
  path: '/v2/session/sso',
  unknownQuery: 'ignore',
  head: false,
  whileStopping: 'refuse',
  responses: { 303: Redirected },
  errors: ['not-found'],
  async handle({ request }, context) {
    const signIn = requireSignIn(context);
    const returnTo = returnPathOf(new URLSearchParams(request.target.query).get('return'));
    const signInStart = await signIn.begin({ returnTo, link: null });
    if (signInStart.kind === 'failed') return redirectTo(loginPageOf(signInStart.error), clearSignInCookie(request.isHttps));
    return redirectTo(signInStart.url, setSignInCookie(signInStart.cookie, request.isHttps));
  },
});

const completeSignIn = openOperation({
  operationId: 'completeSignIn',
  tag: TAG,
  summary: 'Complete single sign-on',
  description:
    'For browsers. The identity provider redirects here. Creates a session, as a sign-in with an API key does, and redirects to the requested page.',
  method: 'GET',
  path: SIGN_IN_CALLBACK,
  unknownQuery: 'ignore',
  head: false,
  whileStopping: 'refuse',
  responses: { 303: Redirected },
  errors: ['not-found'],
  async handle({ request }, context) {
    const { isHttps, callerIp, target, headers } = request;
    const signIn = requireSignIn(context);
    const cookie = signInCookieOf(headers, isHttps);
    const signInResult = await signIn.finish({ query: target.query, cookie, address: callerIp, isHttps });
    // A failed sign-in cannot be repeated with the same cookie.
    if (signInResult.kind === 'failed') return redirectTo(loginPageOf(signInResult.error), clearSignInCookie(isHttps));
    return redirectTo(signInResult.returnTo, setCookie(signInResult.secret, isHttps));
  },
});

const linkIdentity = sessionOperation({
  operationId: 'linkIdentity',
  audit: notAudited('it redirects to the identity provider; linking the identity is recorded when it happens'),
  tag: TAG,
  summary: 'Link an identity of the identity provider',
  description:
    'Returns the URL to open in the browser. After the identity is linked, the user of the session can sign in with it. If the session ends before that, the identity is not linked.',
  method: 'POST',
  path: '/v2/session/sso/link',
  unknownQuery: 'refuse',
  responses: { 200: Redirected },
  errors: ['bad-parameter', 'not-found', 'unavailable'],
  async handle({ request }, context, { principal, sessionHash }) {
    const link = { userId: principal.user.userId, sessionHash };
    const signInStart = await requireSignIn(context).begin({ returnTo: '/', link });
    if (signInStart.kind === 'failed')
      throw new ApiError('unavailable', 'the identity provider cannot be reached; try again later');
    return respond(200, { location: signInStart.url }, { 'set-cookie': setSignInCookie(signInStart.cookie, request.isHttps) });
  },
});

export const signInOperations: readonly Operation[] = [getSignInMethods, startSignIn, completeSignIn, linkIdentity];
