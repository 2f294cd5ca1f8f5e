/** Shows why a run failed and the state of its failure callback. */
import { Link } from '@tanstack/react-router';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { useInstanceId } from '../../api/instances.js';
import { failureOf, lastAttemptOf } from '../../components/errors/error-text.js';
import { ErrorView } from '../../components/errors/error-view.js';
import { TimeText } from '../../components/times/time-text.js';

const CALLBACK_STATES = {
  CALLBACK_INPROGRESS: 'Sending the failure callback to',
  CALLBACK_SUCCESS: 'Delivered the failure callback to',
  CALLBACK_FAIL: "Couldn't deliver the failure callback to",
  CALLBACK_CANCELED: 'Canceled the failure callback to',
} as const;

export function FailureCard({ journal }: { readonly journal: RunJournal }) {
  const instanceId = useInstanceId();
  const { dlqId, error = '', failureFunctionInfo: callback } = journal;
  const { heading, message, thrown } = failureOf(error, lastAttemptOf(error, journal.attempts));
  return (
    <section className="notice" data-tone="bad" aria-label="Failure">
      <div className="stack failure-text">
        <p>
          <strong>Run failed.</strong> {heading === null ? null : `${heading}.`}
        </p>
        <ErrorView message={message} thrown={thrown} compact />
        {dlqId === undefined ? null : (
          <p>
            Dead letter:{' '}
            <Link to="/q/$instanceId/dead-letters/$dlqId" params={{ instanceId, dlqId }} className="mono">
              {dlqId}
            </Link>
          </p>
        )}
        {callback?.state === undefined ? null : (
          <p>
            {CALLBACK_STATES[callback.state]} <span className="mono">{callback.url}</span>
            {callback.responseStatus === undefined ? '' : ` (HTTP ${callback.responseStatus})`}
            {callback.nextAttemptAt === undefined ? null : (
              <>
                , retry <TimeText unixMs={callback.nextAttemptAt} style="relative" />
              </>
            )}
            .
          </p>
        )}
      </div>
    </section>
  );
}
