/** Whether somebody was told that the run failed, what came of the attempts, and telling again. */
import { useState } from 'react';
import type { DeadLetterEntry } from '../../../../everstep/src/contract/dead-letters.js';
import { path } from '../../api/client.js';
import { useMay } from '../../api/instances.js';
import { useChange } from '../../api/queries.js';
import { DeedButton } from '../../components/deed-button.js';
import { quantity } from '../../components/formats.js';
import { TimeText } from '../../components/time-text.js';
import { CallbackBadge } from './callback-state.js';

export function FailureCallback({ entry }: { readonly entry: DeadLetterEntry }) {
  const may = useMay();
  const change = useChange();
  const [busy, setBusy] = useState(false);
  const { failureFunctionState: state, failureFunctionInfo: info, dlqId } = entry;
  const does = async (method: 'POST' | 'DELETE', done: string) => {
    setBusy(true);
    const url = path`/v2/workflows/dlq/callback/${dlqId}`;
    await change({ url, method, topics: ['dlq'], done, tellFailure: true });
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
          <DeedButton small off={may.readOnly} busy={busy} onClick={() => does('DELETE', 'The failure callback was canceled')}>
            Cancel it
          </DeedButton>
        ) : (
          <DeedButton small off={may.readOnly} busy={busy} onClick={() => does('POST', 'The failure callback is called again')}>
            {state === 'CALLBACK_SUCCESS' ? 'Tell again' : 'Try again'}
          </DeedButton>
        )}
      </div>
      <div className="card-body stack">
        {state === undefined ? <p className="muted">The run has none: nobody is told when it fails.</p> : null}
        {info === undefined ? null : (
          <>
            <dl className="facts">
              <div>
                <dt>Called</dt>
                <dd className="mono">{info.url}</dd>
              </div>
              <div>
                <dt>Failed so far</dt>
                <dd>{quantity(info.errors.length, 'attempt')}</dd>
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
                    {status === undefined ? null : <span className="muted"> · status {status}</span>}
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
