/** Why a run failed, and what became of telling it. */
import { Link } from '@tanstack/react-router';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { useQueueId } from '../../api/instances.js';
import { TimeText } from '../../components/time-text.js';

const CALLBACK_STATES = {
  CALLBACK_INPROGRESS: 'The failure is being told to',
  CALLBACK_SUCCESS: 'The failure was told to',
  CALLBACK_FAIL: 'The failure could not be told to',
  CALLBACK_CANCELED: 'The failure was not told any more to',
} as const;

export function FailureCard({ journal }: { readonly journal: RunJournal }) {
  const queueId = useQueueId();
  const { dlqId, error, failureFunctionInfo: told } = journal;
  return (
    <section className="notice" data-tone="bad" aria-label="Why it failed">
      <div className="stack failure-text">
        <p>
          <strong>It failed.</strong> {error}
        </p>
        {dlqId === undefined ? null : (
          <p>
            It is in the dead letter queue:{' '}
            <Link to="/q/$queueId/dead-letters/$dlqId" params={{ queueId, dlqId }} className="mono">
              {dlqId}
            </Link>
          </p>
        )}
        {told?.state === undefined ? null : (
          <p>
            {CALLBACK_STATES[told.state]} <span className="mono">{told.url}</span>
            {told.responseStatus === undefined ? '' : ` (HTTP ${told.responseStatus})`}
            {told.nextAttemptAt === undefined ? null : (
              <>
                , again <TimeText unixMs={told.nextAttemptAt} style="relative" />
              </>
            )}
            .
          </p>
        )}
      </div>
    </section>
  );
}
