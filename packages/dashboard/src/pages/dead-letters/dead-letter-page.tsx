/** One dead letter: what went wrong, what came back, what it was triggered with, and how it goes on. */
import './dead-letters.css';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { DeadLetterEntry } from '../../../../everstep/src/contract/dead-letters.js';
import { path } from '../../api/client.js';
import { useQueueId } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { CopyId } from '../../components/copy-id.js';
import { JsonView } from '../../components/json-view.js';
import { Labels } from '../../components/labels.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState, ErrorState, FailureNotice, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { TimeText } from '../../components/time-text.js';
import { EntryActions } from './entry-actions.js';
import { FailureCallback } from './failure-callback.js';

export default function DeadLetterPage() {
  const queueId = useQueueId();
  const { dlqId = '' } = useParams({ strict: false });
  const navigate = useNavigate();
  const { data, error, refetch } = useApi<DeadLetterEntry>({
    topic: 'dlq',
    name: 'entry',
    url: path`/v2/workflows/dlq/${dlqId}`,
  });
  const gone = error?.status === 404;
  const toRun = (runId: string) => navigate({ to: '/q/$queueId/runs/$runId', params: { queueId, runId } });
  const toList = () => navigate({ to: '/q/$queueId/dead-letters', params: { queueId }, search: { view: 'entries' } });
  return (
    <>
      <PageTitle
        title="Dead letter"
        lead={
          <>
            <Link to="/q/$queueId/dead-letters" params={{ queueId }}>
              All dead letters
            </Link>
            {data === undefined ? null : (
              <>
                {' · failed '}
                <TimeText unixMs={data.createdAt} style="relative" />
              </>
            )}
          </>
        }
        actions={data === undefined || gone ? undefined : <EntryActions entry={data} onRun={toRun} onDeleted={toList} />}
      />
      {data === undefined && error === null ? <Skeleton lines={10} /> : null}
      {gone && data === undefined ? (
        <div className="card">
          <EmptyState
            title="It is not in the queue any more"
            action={
              <Link className="button" to="/q/$queueId/dead-letters" params={{ queueId }}>
                To the dead letters
              </Link>
            }
          >
            It was resumed, restarted or deleted, or never was there: {dlqId}
          </EmptyState>
        </div>
      ) : null}
      {error !== null && data === undefined && !gone ? (
        <ErrorState failure={error} onRetry={() => void refetch()} what="The dead letter" />
      ) : null}
      {data === undefined ? null : (
        <div className="stack">
          {gone ? (
            <div className="notice" data-tone="info" role="status">
              It has left the queue meanwhile: it was resumed, restarted or deleted.
            </div>
          ) : error === null ? null : (
            <FailureNotice failure={error} onRetry={() => void refetch()} />
          )}
          {data.deletionAt === undefined || data.deletionRepairId === undefined ? null : (
            <div className="notice" data-tone="warn" role="status">
              <span>
                It will be deleted <TimeText unixMs={data.deletionAt} style="relative" />, with all that its repair covers.
              </span>
              <Link
                className="button button-small"
                to="/q/$queueId/repairs/$repairId"
                params={{ queueId, repairId: data.deletionRepairId }}
              >
                Undo it there
              </Link>
            </div>
          )}
          <Entry entry={data} />
        </div>
      )}
    </>
  );
}

function Entry({ entry }: { readonly entry: DeadLetterEntry }) {
  const queueId = useQueueId();
  const { responseStatus, responseBody, responseBodyBase64, responseHeader, body, bodyBase64 } = entry;
  const stack = stackIn(responseBody);
  return (
    <>
      <section className="card" aria-labelledby="what-went-wrong">
        <div className="card-head">
          <h2 id="what-went-wrong">What went wrong</h2>
          {responseStatus === undefined ? (
            <span className="muted">There was no answer</span>
          ) : (
            <StatusBadge tone="bad">{`Status ${responseStatus}`}</StatusBadge>
          )}
        </div>
        <div className="card-body stack">
          <pre className="error-text">{entry.error}</pre>
          {stack === null ? null : <pre className="error-text error-stack">{stack}</pre>}
          {responseStatus === undefined ? null : (
            <details open={stack === null}>
              <summary>The last answer</summary>
              <div className="stack">
                {responseBodyBase64 === undefined ? (
                  <JsonView text={responseBody ?? ''} label="Body of the last answer" />
                ) : (
                  <JsonView text={responseBodyBase64} label="Body of the last answer, which is no text, in base64" />
                )}
                <Headers headers={responseHeader ?? {}} title="Headers of the answer" />
              </div>
            </details>
          )}
          {entry.fingerprint === undefined ? null : (
            <p>
              <Link
                to="/q/$queueId/dead-letters"
                params={{ queueId }}
                search={{ view: 'entries', fingerprint: entry.fingerprint }}
              >
                All that failed alike
              </Link>
            </p>
          )}
        </div>
      </section>
      <section className="card" aria-labelledby="the-run">
        <div className="card-head">
          <h2 id="the-run">The run</h2>
          <Link
            className="button button-small"
            to="/q/$queueId/runs/$runId"
            params={{ queueId, runId: entry.workflowRunId }}
            search={{ createdAt: String(entry.workflowCreatedAt) }}
          >
            Open the run
          </Link>
        </div>
        <div className="card-body">
          <dl className="facts">
            <Fact name="Run id">
              <CopyId value={entry.workflowRunId} what="run id" />
            </Fact>
            <Fact name="Workflow">
              <CopyId value={entry.workflowUrl} what="workflow URL" />
            </Fact>
            <Fact name="Created">
              <TimeText unixMs={entry.workflowCreatedAt} />
            </Fact>
            <Fact name="Failed">
              <TimeText unixMs={entry.createdAt} />
            </Fact>
            <Fact name="Retries of each step">{entry.maxRetries}</Fact>
            <Fact name="Labels">
              {entry.labels.length === 0 ? <span className="muted">none</span> : <Labels labels={entry.labels} />}
            </Fact>
            <Fact name="Flow control key">{entry.flowControlKey ?? <span className="muted">none</span>}</Fact>
            <Fact name="Caller">{entry.callerIP === '' ? <span className="muted">not known</span> : entry.callerIP}</Fact>
            <Fact name="Dead letter id">
              <CopyId value={entry.dlqId} what="dead letter id" />
            </Fact>
          </dl>
        </div>
      </section>
      <FailureCallback entry={entry} />
      <section className="card" aria-labelledby="the-input">
        <div className="card-head">
          <h2 id="the-input">What it was triggered with</h2>
        </div>
        <div className="card-body stack">
          {bodyBase64 === undefined ? (
            <JsonView text={body ?? ''} label="Body that the run was triggered with" />
          ) : (
            <JsonView text={bodyBase64} label="Body that the run was triggered with, which is no text, in base64" />
          )}
          <Headers headers={entry.header} title="Headers that are sent to the workflow" />
        </div>
      </section>
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Headers({ headers, title }: { readonly headers: DeadLetterEntry['header']; readonly title: string }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <details>
      <summary>
        {title} ({entries.length})
      </summary>
      <dl className="headers">
        {entries.flatMap(([name, values]) => [<dt key={`${name}:`}>{name}</dt>, <dd key={name}>{values.join(', ')}</dd>])}
      </dl>
    </details>
  );
}

/** The stack of the error that an endpoint told of, without its first line, which is the message; null when there is none. */
function stackIn(responseBody: string | undefined): string | null {
  try {
    const told: unknown = JSON.parse(responseBody ?? '');
    if (typeof told !== 'object' || told === null) return null;
    const error: unknown = 'error' in told && typeof told.error === 'object' ? told.error : told;
    if (typeof error !== 'object' || error === null || !('stack' in error) || typeof error.stack !== 'string') return null;
    const [, ...lines] = error.stack.split('\n');
    return lines.length === 0 ? null : lines.map((line) => line.trim()).join('\n');
  } catch {
    return null;
  }
}
