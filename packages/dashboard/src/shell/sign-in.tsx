/** Sign-in page: with the identity provider if SSO is configured, or with the email and an API key of a user. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useEffect, useState } from 'react';
import type { Failure, Outcome } from '../api/outcome.js';
import { type Session, sessionQuery, signIn, signInMethodsQuery, signInWithLink } from '../api/session.js';
import { Brand } from '../components/brand.js';
import { TextField } from '../components/fields.js';
import { PageTitle } from '../components/page-title.js';
import { FailureNotice } from '../components/states.js';
import { AcceptInvitation, Recover } from './opened-link.js';
import { pathAfterSignIn } from './return-path.js';
import { signInErrorText } from './sign-in-errors.js';

const ONE_TIME_SECRET = /^#((inv|rec)_[A-Za-z0-9_-]+)$/;
const SIGN_IN_LINK = /^#(lnk_[A-Za-z0-9_-]+)$/;

/** Returns the secret of the sign-in link that was opened, and removes it from the URL and the history of the browser. */
function takeLinkSecret(): string | null {
  const secret = SIGN_IN_LINK.exec(window.location.hash)?.[1] ?? null;
  if (secret !== null) window.history.replaceState(window.history.state, '', window.location.pathname + window.location.search);
  return secret;
}

export default function SignIn() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const [email, setEmail] = useState('');
  const [apiKey, setApiKey] = useState('');
  const [secret, setSecret] = useState(() => ONE_TIME_SECRET.exec(window.location.hash)?.[1] ?? null);
  const { data: methods } = useQuery(signInMethodsQuery);
  const signInError = signInErrorText(search['sign-in-error']);
  const [link, setLink] = useState(takeLinkSecret);
  const [busy, setBusy] = useState(link !== null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const finishSignIn = async (pendingSession: Promise<Outcome<Session>>) => {
    setBusy(true);
    setFailure(null);
    const outcome = await pendingSession;
    setBusy(false);
    if (!outcome.ok) return setFailure(outcome.failure);
    client.setQueryData(sessionQuery.queryKey, outcome.value);
    await navigate({ href: pathAfterSignIn(search.to), replace: true });
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void finishSignIn(signIn(email.trim(), apiKey.trim()));
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link is used once
  useEffect(() => {
    if (link === null) return;
    setLink(null);
    void finishSignIn(signInWithLink(link));
  }, [link]);
  if (secret !== null) {
    const onDone = (credentials: { readonly email: string; readonly apiKey: string } | null) => {
      setSecret(null);
      setEmail(credentials?.email ?? '');
      setApiKey(credentials?.apiKey ?? '');
    };
    const LinkForm = secret.startsWith('inv_') ? AcceptInvitation : Recover;
    return (
      <main className="sign-in">
        <LinkForm secret={secret} onDone={onDone} />
      </main>
    );
  }
  return (
    <main className="sign-in">
      <form className="sign-in-card" onSubmit={submit}>
        <Brand />
        <PageTitle title="Sign in" lead="Enter your email and one of your API keys." />
        {signInError === undefined ? null : (
          <p className="notice" data-tone="bad" role="alert">
            {signInError}
          </p>
        )}
        {methods?.sso === true ? (
          <a className="button button-primary" href={`/v2/session/sso?return=${encodeURIComponent(pathAfterSignIn(search.to))}`}>
            Sign in with SSO
          </a>
        ) : null}
        <TextField label="Email" type="email" name="email" autoComplete="username" required value={email} onChange={setEmail} />
        <TextField
          label="API key"
          type="password"
          name="api-key"
          autoComplete="current-password"
          required
          value={apiKey}
          onChange={setApiKey}
        />
        {failure === null ? null : <FailureNotice failure={failure} />}
        <button type="submit" className="button button-primary" disabled={busy}>
          {busy ? 'Signing in…' : 'Sign in'}
        </button>
        <details>
          <summary>Where is my API key?</summary>
          <ul className="sign-in-help">
            <li>
              The first user: in <code>credentials.json</code> in the data directory of the server, by default{' '}
              <code>.everstep</code>, and in the file that <code>EVERSTEP_ENV_FILE</code> names.
            </li>
            <li>
              On your own machine: <code>everstep dev</code> prints a sign-in link at every start.
            </li>
            <li>Other users: you received it when you accepted the invitation. An operator can create a recovery link.</li>
          </ul>
        </details>
      </form>
    </main>
  );
}
