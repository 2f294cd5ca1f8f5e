/** Attempts with what was sent and what came back. */
import { useState } from 'react';
import type { RunAttempt } from '../../../../everstep/src/contract/attempts.js';
import { bytesText, durationText } from '../../components/formats.js';
import { JsonView } from '../../components/json-view.js';
import { StatusBadge } from '../../components/status-badge.js';
import { TimeText } from '../../components/time-text.js';

const KINDS: Readonly<Record<RunAttempt['kind'], string>> = {
  workflow: 'The workflow was asked to go on',
  step: 'The step was executed',
  call: 'The service made the request',
  message: 'The message was sent',
  callback: 'The failure was told',
};

const CAUSES: Readonly<Record<NonNullable<RunAttempt['cause']>, string>> = {
  network: 'No connection',
  timeout: 'Timeout',
  http: 'HTTP status',
  step: 'Error in the step',
  workflow: 'Error in the workflow',
  'not-protocol': 'No Everstep answer',
  refused: 'Refused',
  'blocked-address': 'Blocked address',
};

export function AttemptsView({ attempts }: { readonly attempts: readonly RunAttempt[] }) {
  if (attempts.length === 0) return <p className="muted">No attempt has been kept.</p>;
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
  // One that was open when it was the last stays so when another comes.
  const [first] = useState(open);
  const { outcome, response, request } = attempt;
  const failed = outcome === 'failed';
  return (
    <details className="attempt" open={first}>
      <summary>
        <StatusBadge tone={failed ? 'bad' : 'good'}>{failed ? 'Failed' : 'Succeeded'}</StatusBadge>
        <span>Attempt {attempt.retried + 1}</span>
        {response?.status === null || response === null ? null : <span className="mono">HTTP {response.status}</span>}
        {attempt.durationMs === null ? null : <span className="muted">{durationText(attempt.durationMs)}</span>}
        <TimeText unixMs={attempt.at} />
      </summary>
      <div className="attempt-body">
        <p className="muted">
          {KINDS[attempt.kind]}
          {attempt.cause === null ? '.' : `. ${CAUSES[attempt.cause]}.`}
        </p>
        {attempt.message === null ? null : <p className="attempt-message">{attempt.message}</p>}
        {attempt.retryAt === null ? null : (
          <p>
            It was to be tried again at <TimeText unixMs={attempt.retryAt} />.
          </p>
        )}
        {request === null ? (
          <p className="muted">{whyNoRequest(attempt)}</p>
        ) : (
          <section>
            <h4>Request</h4>
            <p className="mono attempt-url">
              {request.method} {request.url}
            </p>
            <HeaderList headers={request.headers} label="Headers of the request" />
            <RequestBody request={request} attempt={attempt.retried + 1} />
          </section>
        )}
        {response === null ? null : (
          <section className="stack">
            <h4>Response</h4>
            <HeaderList headers={response.headers} label="Headers of the response" />
            {response.bodyEncoding === 'base64' ? (
              <p className="muted">A body of {bytesText(response.bodyBytes)} that is no text.</p>
            ) : (
              <JsonView text={response.body} label={`Body of the response, attempt ${attempt.retried + 1}`} />
            )}
            {response.bodyEncoding === 'utf8' && new TextEncoder().encode(response.body).length < response.bodyBytes ? (
              <p className="muted">This is the beginning of {bytesText(response.bodyBytes)}.</p>
            ) : null}
          </section>
        )}
      </div>
    </details>
  );
}

function whyNoRequest({ cause }: RunAttempt): string {
  return cause === 'blocked-address' ? 'Nothing was sent.' : 'What was sent is not kept.';
}

function RequestBody({ request, attempt }: { readonly request: NonNullable<RunAttempt['request']>; readonly attempt: number }) {
  const { body, bodyBytes, bodyEncoding, rebuilt } = request;
  const size = bodyBytes === null ? '' : ` of ${bytesText(bodyBytes)}`;
  if (body === null) return <p className="muted">A body{size}, which was not kept.</p>;
  if (body === '') return <p className="muted">No body.</p>;
  if (bodyEncoding === 'base64') return <p className="muted">A body{size} that is no text.</p>;
  const shown = new TextEncoder().encode(body).length;
  return (
    <div className="stack">
      <JsonView text={body} label={`Body of the request, attempt ${attempt}`} />
      {rebuilt ? (
        <p className="muted">
          Made again from the input and the journal: what the endpoint was told, not how it was framed
          {bodyBytes === null ? '' : ` in the ${bytesText(bodyBytes)} that were sent`}.
        </p>
      ) : bodyBytes !== null && shown < bodyBytes ? (
        <p className="muted">This is the beginning{size}.</p>
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
