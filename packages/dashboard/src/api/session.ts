/** The session of the signed-in user. */
import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import type { SessionEntry } from '../../../everstep/src/contract/session.js';
import type { SignInMethods } from '../../../everstep/src/contract/sign-in.js';
import { request, setCsrfToken } from './client.js';
import { type Outcome, valueIn } from './outcome.js';

export type Session = SessionEntry;

/** Loads the session; null if the user is not signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async (): Promise<Session | null> => {
    const outcome = await request<Session>('/v2/session');
    if (!outcome.ok && outcome.failure.status === 401) return applySession(null);
    return applySession(valueIn(outcome));
  },
  staleTime: Number.POSITIVE_INFINITY,
});

/** Loads the sign-in methods of this server. */
export const signInMethodsQuery = queryOptions({
  queryKey: ['sign-in-methods'],
  queryFn: async () => valueIn(await request<SignInMethods>('/v2/session/methods')),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Uses the CSRF token of the session for all further requests. */
function applySession(session: Session | null): Session | null {
  setCsrfToken(session?.csrf_token ?? null);
  return session;
}

/**
 * Returns the function that loads the session again after the server refused a CSRF token. A sign-in in another tab replaces the
 * cookie of all tabs, and each session has its own token. The function returns whether there is a new token for the same user.
 * After a sign-in of another user, it discards the data of this user and reloads the page.
 */
export function sessionRenewer(client: QueryClient, reloadPage: () => void): (refusedToken: string) => Promise<boolean> {
  return async (refusedToken) => {
    const outcome = await request<Session>('/v2/session');
    const known = client.getQueryData(sessionQuery.queryKey);
    if (!outcome.ok || !known) return false;
    if (outcome.value.user.id !== known.user.id) {
      client.clear();
      reloadPage();
      return false;
    }
    client.setQueryData(sessionQuery.queryKey, applySession(outcome.value));
    return outcome.value.csrf_token !== refusedToken;
  };
}

/** Signs in with an email and an API key. */
export async function signIn(email: string, apiKey: string): Promise<Outcome<Session>> {
  const outcome = await request<Session>('/v2/session', { method: 'POST', body: { email, api_key: apiKey } });
  if (outcome.ok) applySession(outcome.value);
  return outcome;
}

/** Signs in with the secret of a one-time sign-in link. */
export async function signInWithLink(secret: string): Promise<Outcome<Session>> {
  const outcome = await request<Session>('/v2/session/link', { method: 'POST', body: { secret } });
  if (outcome.ok) applySession(outcome.value);
  return outcome;
}

/** Ends the session on the server, which invalidates the cookie. */
export const signOut = (): Promise<Outcome<unknown>> => request('/v2/session', { method: 'DELETE' });

/** Ends all sessions of the user, in every browser. */
export const signOutEverywhere = (): Promise<Outcome<unknown>> => request('/v2/sessions', { method: 'DELETE' });

/** Returns the session. Use it only below the layout, which requires a session. */
export function useSession(): Session {
  const { data } = useQuery(sessionQuery);
  if (!data) throw new Error('useSession is used outside the layout, without a session');
  return data;
}
