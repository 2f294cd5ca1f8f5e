/** Accepts the invitation in an opened link, which creates the user, and shows the user's first API key. */
import { useState } from 'react';
import type { JoinedTeam } from '../../../everstep/src/contract/management.js';
import { request } from '../api/client.js';
import type { Failure } from '../api/outcome.js';
import { CopyId } from '../components/copy-id.js';
import { PageTitle } from '../components/page-title.js';
import { FailureNotice } from '../components/states.js';

export interface AcceptInvitationProps {
  readonly secret: string;
  /** Called with the email and key of the new user, or with null if the invitation was not accepted. */
  readonly onDone: (login: { readonly email: string; readonly apiKey: string } | null) => void;
}

export function AcceptInvitation({ secret, onDone }: AcceptInvitationProps) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [joined, setJoined] = useState<JoinedTeam | null>(null);
  const accept = async () => {
    setBusy(true);
    setFailure(null);
    const outcome = await request<JoinedTeam>('/v2/invitations/accept', { method: 'POST', body: { secret } });
    setBusy(false);
    if (outcome.ok) setJoined(outcome.value);
    else setFailure(outcome.failure);
  };
  if (joined !== null) {
    const { member_email: email, api_key: apiKey = '', team_name: team, member_role: role } = joined;
    return (
      <div className="login-card">
        <PageTitle title={`Welcome to ${team}`} lead={`Your role is ${role}. Save this API key now: it is shown only once.`} />
        <p>Log in as {email} with this key.</p>
        <CopyId value={apiKey} what="API key" />
        <button type="button" className="button button-primary" onClick={() => onDone({ email, apiKey })}>
          Continue to login
        </button>
      </div>
    );
  }
  return (
    <div className="login-card">
      <PageTitle
        title="You have been invited to a team"
        lead="Accepting creates a user for you. If you already have one, log in and select Join a team on the Team page."
      />
      {failure === null ? null : <FailureNotice failure={failure} />}
      <button type="button" className="button button-primary" disabled={busy} onClick={() => void accept()}>
        Accept invitation
      </button>
      <button type="button" className="button" onClick={() => onDone(null)}>
        Log in instead
      </button>
    </div>
  );
}
