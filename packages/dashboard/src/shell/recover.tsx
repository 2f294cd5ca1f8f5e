/** Uses the recovery link that was opened and shows the new API key. */
import { useState } from 'react';
import type { Recovered } from '../../../everstep/src/contract/management.js';
import { request } from '../api/client.js';
import type { Failure } from '../api/outcome.js';
import { CopyId } from '../components/copy-id.js';
import { PageTitle } from '../components/page-title.js';
import { FailureNotice } from '../components/states.js';

export interface RecoverProps {
  readonly secret: string;
  /** Called with the email and the new key, or with null if the link was not used. */
  readonly onDone: (login: { readonly email: string; readonly apiKey: string } | null) => void;
}

export function Recover({ secret, onDone }: RecoverProps) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [recovered, setRecovered] = useState<Recovered | null>(null);
  const recover = async () => {
    setBusy(true);
    setFailure(null);
    const outcome = await request<Recovered>('/v2/recover', { method: 'POST', body: { secret } });
    setBusy(false);
    if (outcome.ok) setRecovered(outcome.value);
    else setFailure(outcome.failure);
  };
  if (recovered !== null) {
    const { email, api_key: apiKey } = recovered;
    return (
      <div className="login-card">
        <PageTitle title="Your new API key" lead="Save it now: it is shown only once." />
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
      <PageTitle title="Recover your user" lead="This link creates a new API key for your user. It can be used only once." />
      {failure === null ? null : <FailureNotice failure={failure} />}
      <button type="button" className="button button-primary" disabled={busy} onClick={() => void recover()}>
        Create API key
      </button>
      <button type="button" className="button" onClick={() => onDone(null)}>
        Log in instead
      </button>
    </div>
  );
}
