/** State of the failure callback of a run, its failed attempts, and actions to cancel or resend it. */
import { useState } from 'react';
import type { DeadLetterEntry } from '../../../../everstep/src/contract/dead-letters.js';
import { path } from '../../api/client.js';
import { usePermissions } from '../../api/instances.js';
import { useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { CallbackBadge } from './callback-badge.js';

export function FailureCallback({ entry }: { readonly entry: DeadLetterEntry }) {
  const permissions = usePermissions();
  const change = useChange();
  const [busy, setBusy] = useState(false);
  const { failureFunctionState: state, failureFunctionInfo: info, dlqId } = entry;
  const send = async (method: 'POST' | 'DELETE', successText: string) => {
    setBusy(true);
    const url = path`/v2/workflows/dlq/callback/${dlqId}`;
    await change({ url, method, topics: ['dlq'], successText, showFailure: true });
    setBusy(false);
  };
  return (
    <section className="card" aria-labelledby="failure-callback">
      <div className="card-head">
        <div className="line">
          <h2 id="failure-callback">Failure callback</h2>
          {state === undefined ? null : <CallbackBadge state={state} />}
        </div>
        {state === undefined ? null : state === 'CALLBACK_INPROGRESS' ? (
          <ActionButton
            small
            disabledReason={permissions.readOnlyReason}
            busy={busy}
            onClick={() => send('DELETE', 'Canceled the failure callback')}
          >
            Cancel
          </ActionButton>
        ) : (
          <ActionButton
            small
            disabledReason={permissions.readOnlyReason}
            busy={busy}
            onClick={() => send('POST', 'Sending the failure callback again')}
          >
            {state === 'CALLBACK_SUCCESS' ? 'Send again' : 'Retry'}
          </ActionButton>
        )}
      </div>
      <div className="card-body stack">
        {state === undefined ? <p className="muted">This run has no failure callback.</p> : null}
        {info === undefined ? null : (
          <>
            <dl className="facts">
              <div>
                <dt>URL</dt>
                <dd className="mono">{info.url}</dd>
              </div>
              <div>
                <dt>Failed attempts</dt>
                <dd>{countText(info.errors.length)}</dd>
              </div>
              {info.nextAttemptAt === undefined ? null : (
                <div>
                  <dt>Next attempt</dt>
                  <dd>
                    <TimeText unixMs={info.nextAttemptAt} style="relative" />
                  </dd>
                </div>
              )}
            </dl>
            {info.errors.length === 0 ? null : (
              <ol className="stack">
                {info.errors.map(({ time, error, status, retried }) => (
                  <li key={`${time} ${retried}`}>
                    <TimeText unixMs={time} /> · <span className="mono">{error}</span>
                    {status === undefined ? null : <span className="muted"> · HTTP {status}</span>}
                  </li>
                ))}
              </ol>
            )}
          </>
        )}
      </div>
    </section>
  );
}
