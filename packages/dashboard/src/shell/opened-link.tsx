/** Page of an invitation or recovery link. Shows the API key that the link creates. */
import { useState } from 'react';
import type { JoinedTeam, Recovered } from '../../../everstep/src/contract/management.js';
import { request } from '../api/client.js';
import type { Failure } from '../api/outcome.js';
import { CopyId } from '../components/copy-id.js';
import { PageTitle, type PageTitleProps } from '../components/page-title.js';
import { FailureNotice } from '../components/states.js';

interface Credentials {
  readonly email: string;
  readonly apiKey: string;
}

export interface LinkProps {
  readonly secret: string;
  /** Called with the email and the new key, or with null if the link was not used. */
  readonly onDone: (credentials: Credentials | null) => void;
}

type Title = Pick<PageTitleProps, 'title' | 'lead'>;

interface OpenedLinkProps<ResponseBody> extends LinkProps, Title {
  readonly url: string;
  /** Label of the button that uses the link. */
  readonly action: string;
  /** Returns the new credentials and the heading above them. */
  readonly credentialsOf: (response: ResponseBody) => Credentials & Title;
}

function OpenedLink<ResponseBody>({ secret, onDone, url, action, credentialsOf, ...title }: OpenedLinkProps<ResponseBody>) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [response, setResponse] = useState<ResponseBody | null>(null);
  const openLink = async () => {
    setBusy(true);
    setFailure(null);
    const outcome = await request<ResponseBody>(url, { method: 'POST', body: { secret } });
    setBusy(false);
    if (outcome.ok) setResponse(outcome.value);
    else setFailure(outcome.failure);
  };
  if (response !== null) {
    const { email, apiKey, ...resultTitle } = credentialsOf(response);
    return (
      <div className="sign-in-card">
        <PageTitle {...resultTitle} />
        <p>Sign in as {email} with this key.</p>
        <CopyId value={apiKey} valueName="API key" />
        <button type="button" className="button button-primary" onClick={() => onDone({ email, apiKey })}>
          Continue to sign-in
        </button>
      </div>
    );
  }
  return (
    <div className="sign-in-card">
      <PageTitle {...title} />
      {failure === null ? null : <FailureNotice failure={failure} />}
      <button type="button" className="button button-primary" disabled={busy} onClick={() => void openLink()}>
        {action}
      </button>
      <button type="button" className="button" onClick={() => onDone(null)}>
        Sign in instead
      </button>
    </div>
  );
}

/** Form that accepts an invitation, which creates the user. */
export const AcceptInvitation = (props: LinkProps) => (
  <OpenedLink<JoinedTeam>
    {...props}
    url="/v2/invitations/accept"
    title="You have been invited to a team"
    lead="Accepting creates a user for you. If you already have one, sign in and select Join a team on the Team page."
    action="Accept invitation"
    credentialsOf={({ member_email: email, api_key: apiKey = '', team_name: team, member_role: role }) => ({
      ...{ email, apiKey, title: `Welcome to ${team}` },
      lead: `Your role is ${role}. Save this API key now: it is shown only once.`,
    })}
  />
);

export const Recover = (props: LinkProps) => (
  <OpenedLink<Recovered>
    {...props}
    url="/v2/recover"
    title="Recover your access"
    lead="This link creates a new API key for you. It can be used only once."
    action="Create API key"
    credentialsOf={({ email, api_key: apiKey }) => ({
      ...{ email, apiKey },
      title: 'Your new API key',
      lead: 'Save it now: it is shown only once.',
    })}
  />
);
