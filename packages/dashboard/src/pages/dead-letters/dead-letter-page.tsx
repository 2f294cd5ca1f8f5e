/** Page of one dead letter: its error, last response, run, failure callback and input, with actions to resume or delete it. */
import './dead-letters.css';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { DeadLetterEntry } from '../../../../everstep/src/contract/dead-letters.js';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { useApi } from '../../api/queries.js';
import { CopyId } from '../../components/copy-id.js';
import { failureOf } from '../../components/errors/error-text.js';
import { ErrorView } from '../../components/errors/error-view.js';
import { hideShownStacks } from '../../components/errors/shown-error.js';
import { JsonView } from '../../components/json-view.js';
import { Labels } from '../../components/labels.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState, ErrorState, FailureNotice, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { TimeText } from '../../components/times/time-text.js';
import { WorkflowUrl } from '../../components/url-text.js';
import { workflowName } from '../../components/urls/workflow-name.js';
import { EntryActions } from './entry-actions.js';
import { FailureCallback } from './failure-callback.js';

export default function DeadLetterPage() {
  const instanceId = useInstanceId();
  const { dlqId = '' } = useParams({ strict: false });
  const navigate = useNavigate();
  const { data, error, refetch } = useApi<DeadLetterEntry>({
    topic: 'dlq',
    name: 'entry',
    url: path`/v2/workflows/dlq/${dlqId}`,
  });
  const isGone = error?.status === 404;
  const toRun = (runId: string) => navigate({ to: '/q/$instanceId/runs/$runId', params: { instanceId, runId } });
  const toList = () => navigate({ to: '/q/$instanceId/dead-letters', params: { instanceId }, search: { view: 'entries' } });
  return (
    <>
      <PageTitle
        title={data === undefined ? 'Dead letter' : `Dead letter of ${workflowName(data.workflowUrl)}`}
        lead={
          <>
            <Link to="/q/$instanceId/dead-letters" params={{ instanceId }}>
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
        actions={data === undefined || isGone ? undefined : <EntryActions entry={data} onRun={toRun} onDeleted={toList} />}
      />
      {data === undefined && error === null ? <Skeleton lines={10} /> : null}
      {isGone && data === undefined ? (
        <div className="card">
          <EmptyState
            title="This dead letter is no longer in the dead letter queue"
            action={
              <Link className="button" to="/q/$instanceId/dead-letters" params={{ instanceId }}>
                View dead letters
              </Link>
            }
          >
            It was resumed, restarted or deleted, its retention ended, or the id is wrong: {dlqId}
          </EmptyState>
        </div>
      ) : null}
      {error !== null && data === undefined && !isGone ? (
        <ErrorState failure={error} onRetry={() => void refetch()} subject="this dead letter" />
      ) : null}
      {data === undefined ? null : (
        <div className="stack">
          {isGone ? (
            <div className="notice" data-tone="info" role="status">
              This dead letter is no longer in the dead letter queue: it was resumed, restarted or deleted, or its retention
              ended.
            </div>
          ) : error === null ? null : (
            <FailureNotice failure={error} onRetry={() => void refetch()} />
          )}
          {data.deletionAt === undefined || data.deletionRepairId === undefined ? null : (
            <div className="notice" data-tone="warn" role="status">
              <span>
                This dead letter will be deleted <TimeText unixMs={data.deletionAt} style="relative" />, together with all others
                in the same repair.
              </span>
              <Link
                className="button button-small"
                to="/q/$instanceId/repairs/$repairId"
                params={{ instanceId, repairId: data.deletionRepairId }}
              >
                Open repair to undo
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
  const instanceId = useInstanceId();
  const { responseStatus, responseBody, responseBodyBase64, responseHeader, body, bodyBase64 } = entry;
  const { heading, message, thrown } = failureOf(entry.error, entry.failedBy);
  return (
    <>
      <section className="card" aria-labelledby="error">
        <div className="card-head">
          <h2 id="error">Error</h2>
          {responseStatus === undefined ? (
            <span className="muted">No response</span>
          ) : (
            <StatusBadge tone="bad">{`HTTP ${responseStatus}`}</StatusBadge>
          )}
        </div>
        <div className="card-body stack">
          {heading === null ? null : <p>{heading}</p>}
          <ErrorView message={message} thrown={thrown} />
          {responseStatus === undefined ? null : (
            <details open={thrown?.stack === undefined}>
              <summary>Last response</summary>
              <div className="stack">
                {responseBodyBase64 === undefined ? (
                  <JsonView
                    text={hideShownStacks(responseBody ?? '', thrown)}
                    original={responseBody ?? ''}
                    label="Body of the last response"
                  />
                ) : (
                  <JsonView text={responseBodyBase64} label="Body of the last response (binary, Base64)" />
                )}
                <Headers headers={responseHeader ?? {}} title="Response headers" />
              </div>
            </details>
          )}
          {entry.fingerprint === undefined ? null : (
            <p>
              <Link
                to="/q/$instanceId/dead-letters"
                params={{ instanceId }}
                search={{ view: 'entries', fingerprint: entry.fingerprint }}
              >
                Show all dead letters in this group
              </Link>
            </p>
          )}
        </div>
      </section>
      <section className="card" aria-labelledby="run">
        <div className="card-head">
          <h2 id="run">Run</h2>
          <Link
            className="button button-small"
            to="/q/$instanceId/runs/$runId"
            params={{ instanceId, runId: entry.workflowRunId }}
            search={{ createdAt: String(entry.workflowCreatedAt) }}
          >
            Open run
          </Link>
        </div>
        <div className="card-body">
          <dl className="facts">
            <Fact name="Run id">
              <CopyId value={entry.workflowRunId} valueName="run id" />
            </Fact>
            <Fact name="Workflow">
              <WorkflowUrl url={entry.workflowUrl} />
            </Fact>
            <Fact name="Created">
              <TimeText unixMs={entry.workflowCreatedAt} />
            </Fact>
            <Fact name="Failed">
              <TimeText unixMs={entry.createdAt} />
            </Fact>
            <Fact name="Retries per step">{entry.maxRetries}</Fact>
            <Fact name="Labels">
              {entry.labels.length === 0 ? (
                <span className="muted">none</span>
              ) : (
                <Labels labels={entry.labels} page="dead-letters" />
              )}
            </Fact>
            <Fact name="Flow control key">{entry.flowControlKey ?? <span className="muted">none</span>}</Fact>
            <Fact name="Caller IP">{entry.callerIP === '' ? <span className="muted">unknown</span> : entry.callerIP}</Fact>
            <Fact name="Dead letter id">
              <CopyId value={entry.dlqId} valueName="dead letter id" />
            </Fact>
          </dl>
        </div>
      </section>
      <FailureCallback entry={entry} />
      <section className="card" aria-labelledby="input">
        <div className="card-head">
          <h2 id="input">Input</h2>
        </div>
        <div className="card-body stack">
          {bodyBase64 === undefined ? (
            <JsonView text={body ?? ''} label="Body of the trigger request" />
          ) : (
            <JsonView text={bodyBase64} label="Body of the trigger request (binary, Base64)" />
          )}
          <Headers headers={entry.header} title="Headers sent to the workflow" />
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
