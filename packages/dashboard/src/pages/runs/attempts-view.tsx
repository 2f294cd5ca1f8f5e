/** Lists attempts with their requests and responses. */
import { useState } from 'react';
import type { RunAttempt } from '../../../../everstep/src/contract/attempts.js';
import { ErrorView } from '../../components/errors/error-view.js';
import { hideShownStacks } from '../../components/errors/shown-error.js';
import { JsonView } from '../../components/json-view.js';
import { StatusBadge } from '../../components/status-badge.js';
import { bytesText, durationText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';

const KIND_TEXTS: Readonly<Record<RunAttempt['kind'], string>> = {
  workflow: 'Called the workflow to continue',
  step: 'Ran the step',
  call: 'Sent the HTTP call',
  message: 'Sent the message',
  callback: 'Sent the failure callback',
};

const CAUSE_TEXTS: Readonly<Record<NonNullable<RunAttempt['cause']>, string>> = {
  network: 'No connection',
  timeout: 'Timeout',
  http: 'HTTP error status',
  step: 'Error in the step',
  workflow: 'Error in the workflow',
  'not-protocol': 'Not an Everstep response',
  refused: 'Rejected',
  'blocked-address': 'Blocked address',
};

export function AttemptsView({ attempts }: { readonly attempts: readonly RunAttempt[] }) {
  if (attempts.length === 0) return <p className="muted">No attempts recorded</p>;
  return (
    <ol className="stack">
      {attempts.map((attempt, index) => (
        <li key={`${attempt.messageId} ${attempt.retried} ${attempt.at}`}>
          <Attempt attempt={attempt} open={index === attempts.length - 1} />
        </li>
      ))}
    </ol>
  );
}

function Attempt({ attempt, open }: { readonly attempt: RunAttempt; readonly open: boolean }) {
  // The last attempt starts expanded and stays so when another one follows.
  const [startsOpen] = useState(open);
  const { outcome, response, request } = attempt;
  const hasFailed = outcome === 'failed';
  return (
    <details className="attempt" open={startsOpen}>
      <summary>
        <StatusBadge tone={hasFailed ? 'bad' : 'good'}>{hasFailed ? 'Failed' : 'Succeeded'}</StatusBadge>
        <span>Attempt {attempt.retried + 1}</span>
        {response?.status === null || response === null ? null : <span className="mono">HTTP {response.status}</span>}
        {attempt.durationMs === null ? null : <span className="muted">{durationText(attempt.durationMs)}</span>}
        <TimeText unixMs={attempt.at} />
      </summary>
      <div className="attempt-body">
        <p className="muted">
          {KIND_TEXTS[attempt.kind]}
          {attempt.cause === null ? '.' : `. ${CAUSE_TEXTS[attempt.cause]}.`}
        </p>
        {attempt.message === null ? null : <ErrorView message={attempt.message} thrown={attempt.thrown} />}
        {attempt.retryAt === null ? null : (
          <p>
            Retry scheduled for <TimeText unixMs={attempt.retryAt} />.
          </p>
        )}
        {request === null ? (
          <p className="muted">{missingRequestText(attempt)}</p>
        ) : (
          <section>
            <h4>Request</h4>
            <p className="mono attempt-url">
              {request.method} {request.url}
            </p>
            <HeaderList headers={request.headers} label="Request headers" />
            <RequestBody request={request} attempt={attempt.retried + 1} />
          </section>
        )}
        {response === null ? null : (
          <section className="stack">
            <h4>Response</h4>
            <HeaderList headers={response.headers} label="Response headers" />
            {response.bodyEncoding === 'base64' ? (
              <p className="muted">Binary body of {bytesText(response.bodyBytes)}</p>
            ) : (
              <JsonView
                text={hideShownStacks(response.body, attempt.thrown)}
                original={response.body}
                label={`Response body, attempt ${attempt.retried + 1}`}
              />
            )}
            {response.bodyEncoding === 'utf8' && new TextEncoder().encode(response.body).length < response.bodyBytes ? (
              <p className="muted">Truncated: the full body has {bytesText(response.bodyBytes)}.</p>
            ) : null}
          </section>
        )}
      </div>
    </details>
  );
}

function missingRequestText({ cause }: RunAttempt): string {
  return cause === 'blocked-address' ? 'No request was sent' : 'The request was not stored';
}

function RequestBody({ request, attempt }: { readonly request: NonNullable<RunAttempt['request']>; readonly attempt: number }) {
  const { body, bodyBytes, bodyEncoding, rebuilt } = request;
  const size = bodyBytes === null ? '' : ` of ${bytesText(bodyBytes)}`;
  if (body === null) return <p className="muted">The body{size} was not stored</p>;
  if (body === '') return <p className="muted">No body</p>;
  if (bodyEncoding === 'base64') return <p className="muted">Binary body{size}</p>;
  const shownBytes = new TextEncoder().encode(body).length;
  return (
    <div className="stack">
      <JsonView text={body} label={`Request body, attempt ${attempt}`} />
      {rebuilt ? (
        <p className="muted">
          Reconstructed from the input and the journal. The content is the same, but the format may differ from the request
          {bodyBytes === null ? '' : `, which had ${bytesText(bodyBytes)}`}.
        </p>
      ) : bodyBytes !== null && shownBytes < bodyBytes ? (
        <p className="muted">Truncated: this is the start of a body{size}.</p>
      ) : null}
    </div>
  );
}

function HeaderList({
  headers,
  label,
}: {
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly label: string;
}) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <details>
      <summary>
        {label} ({entries.length})
      </summary>
      <dl className="headers-list">
        {entries.map(([name, values]) => (
          <div key={name} className="headers-pair">
            <dt className="muted">{name}</dt>
            <dd className="mono">{values.join(', ')}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
