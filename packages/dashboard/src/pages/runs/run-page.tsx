/** One run: what happened and when, why it is where it is, and what can be done about it. */
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { RunAttempts } from '../../../../everstep/src/contract/attempts.js';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { path } from '../../api/client.js';
import { useApi } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { DialogClose, DialogWindow } from '../../components/dialogs.js';
import { Facts } from '../../components/facts.js';
import { durationText } from '../../components/formats.js';
import { Held } from '../../components/held.js';
import { Icon } from '../../components/icons.js';
import { JsonView } from '../../components/json-view.js';
import { Labels } from '../../components/labels.js';
import { useRoom } from '../../components/media.js';
import { PageTitle } from '../../components/page-title.js';
import { RunStateBadge } from '../../components/run-state.js';
import { ErrorState, FailureNotice, Skeleton } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { ExplainCard } from './explain-card.js';
import { FailureCard } from './failure-card.js';
import { LineageCard } from './lineage-card.js';
import { RunActions } from './run-actions.js';
import { StepPanel } from './step-panel.js';
import { type TimelineRow, timelineOf } from './timeline.js';
import { TimelineView } from './timeline-view.js';
import './runs.css';

/** As it stands in the URL; undefined: the latest run with the id. */
export function useCreatedAt(): number | undefined {
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  return /^\d{1,15}$/.test(search.createdAt ?? '') ? Number(search.createdAt) : undefined;
}

export default function RunPage() {
  const { runId = '' } = useParams({ strict: false });
  const createdAt = useCreatedAt();
  const run = useApi<RunJournal>({
    topic: 'runs',
    name: 'journal',
    url: path`/v2/workflows/runs/${runId}`,
    query: { workflowCreatedAt: createdAt },
  });
  if (run.data === undefined)
    return (
      <>
        <PageTitle title={`Run ${runId}`} />
        {run.error ? (
          <ErrorState failure={run.error} what="The run" onRetry={() => void run.refetch()} />
        ) : (
          <Skeleton lines={9} />
        )}
      </>
    );
  return <Run key={`${runId} ${run.data.workflowCreatedAt}`} journal={run.data} failure={run.error} />;
}

function Run({
  journal,
  failure,
}: {
  readonly journal: RunJournal;
  readonly failure: Parameters<typeof FailureNotice>[0]['failure'] | null;
}) {
  const { workflowRunId: runId, workflowCreatedAt: createdAt, workflowState: state } = journal;
  const attempts = useApi<RunAttempts>({
    topic: 'runs',
    name: 'attempts',
    url: path`/v2/workflows/runs/${runId}/attempts`,
    query: { createdAt },
  });
  const rows = useMemo(() => timelineOf(journal, attempts.data?.attempts), [journal, attempts.data]);
  const { selected, select } = useSelectedStep(rows);
  const wide = useRoom() === 'wide';
  const completedAt = journal.workflowRunCompletedAt ?? null;
  const telling = journal.failureFunctionInfo?.state === 'CALLBACK_INPROGRESS';
  // Of what is seen to go on, each part has its place and one height: nothing moves while it does.
  const [watched] = useState(state === 'RUN_STARTED' || telling);
  const ends = <span className="muted">not yet</span>;
  const timeline = (
    <Card title={`Timeline: ${rows.length} ${rows.length === 1 ? 'step' : 'steps'}`} flush>
      {rows.length === 0 && !watched ? (
        <p className="card-body muted">Nothing has been recorded.</p>
      ) : (
        <TimelineView
          rows={rows}
          from={createdAt}
          to={completedAt}
          selectedKey={selected?.key ?? null}
          onSelect={(row) => select(row.key)}
          held={watched}
        />
      )}
    </Card>
  );
  const panel =
    selected === null ? null : (
      <StepPanel key={selected.key} journal={journal} row={selected} attempts={attempts.data?.attempts ?? []} />
    );
  return (
    <>
      <PageTitle title={`Run ${runId}`} actions={<RunActions journal={journal} watched={watched} />}>
        <span className="run-title">
          <span>Run {runId}</span>
          <RunStateBadge state={state} />
        </span>
      </PageTitle>
      <div className="run-columns" data-watched={watched ? '' : undefined}>
        <Held held={watched} className="run-why" label="Where the run is">
          {failure === null ? null : <FailureNotice failure={failure} />}
          {journal.error === undefined ? null : <FailureCard journal={journal} />}
          {telling || (watched && journal.error === undefined) ? <ExplainCard runId={runId} createdAt={createdAt} /> : null}
        </Held>
        <Card title="The run">
          <Facts
            facts={[
              ['Id', <CopyId key="id" value={runId} what="run id" />],
              ['Workflow', <CopyId key="url" value={journal.workflowUrl} what="workflow URL" />],
              ['Created', <TimeText key="created" unixMs={createdAt} style="exact" />],
              ['Ended', completedAt === null ? ends : <TimeText key="ended" unixMs={completedAt} style="exact" />],
              ['Took', completedAt === null ? ends : durationText(completedAt - createdAt)],
              ['Labels', journal.labels.length === 0 ? null : <Labels key="labels" labels={journal.labels} />],
              ['Flow control key', journal.flowControlKey],
              ['Retries', String(journal.maxRetries)],
              ['Caller', journal.callerIP],
            ]}
          />
        </Card>
        {/* The timeline keeps its place in the tree, and with it what is in view and has the focus. */}
        <div className={wide && selected !== null ? 'run-with-step' : ''}>
          {timeline}
          {wide && selected !== null ? (
            <StepAside row={selected} onClose={() => select(null)}>
              {panel}
            </StepAside>
          ) : null}
        </div>
        {wide || selected === null ? null : (
          <DialogWindow
            title={selected.name}
            open
            wide
            high={watched}
            onClose={() => select(null)}
            actions={<DialogClose>Close</DialogClose>}
          >
            {panel}
          </DialogWindow>
        )}
        <div className="run-pair">
          <Card title="Input">
            <Input journal={journal} />
          </Card>
          <Held held={watched} className="run-output" label="What comes of the run">
            <Card title="Output">
              {journal.result === undefined ? (
                <p className="muted">{state === 'RUN_STARTED' ? 'None yet.' : 'None.'}</p>
              ) : (
                <JsonView text={JSON.stringify(journal.result)} label="Output of the run" />
              )}
            </Card>
          </Held>
        </div>
        <Held held={watched} className="run-relatives" label="Runs that belong to it">
          <LineageCard runId={runId} createdAt={createdAt} />
        </Held>
        {/* The last one: it may come at any time. */}
        {journal.keptEvents === undefined ? null : (
          <Card title="Events that came before they were waited for">
            <ul className="relatives">
              {journal.keptEvents.map(({ eventId, receivedAt }) => (
                <li key={`${eventId} ${receivedAt}`}>
                  <span className="mono">{eventId}</span> <TimeText unixMs={receivedAt} />
                </li>
              ))}
            </ul>
          </Card>
        )}
      </div>
    </>
  );
}

function Input({ journal: { input } }: { readonly journal: RunJournal }) {
  if (input === undefined) return <p className="muted">It is not kept any more.</p>;
  if (input.bodyBase64 !== undefined) return <p className="muted">Bytes that are no text: {input.bodyBase64.slice(0, 200)}</p>;
  return <JsonView text={input.body ?? ''} label="Input of the run" />;
}

/** Which row is shown closer stands in the URL, so that it can be sent to somebody. */
function useSelectedStep(rows: readonly TimelineRow[]) {
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const found = rows.find(({ key }) => key === search.step);
  // What the code does between steps has a row while it does: whoever reads it goes on reading when it is over.
  const [last, setLast] = useState<TimelineRow | null>(null);
  if (found !== undefined && found !== last) setLast(found);
  const selected = found ?? (last !== null && last.key === search.step ? last : null);
  const select = (key: string | null) =>
    void navigate({
      to: '.',
      search: (before) => {
        const { step: _step, ...rest } = before;
        return key === null ? rest : { ...rest, step: key };
      },
      replace: true,
      resetScroll: false,
    });
  return { selected, select };
}

interface StepAsideProps {
  readonly row: TimelineRow;
  readonly onClose: () => void;
  readonly children: React.ReactNode;
}

function StepAside({ row, onClose, children }: StepAsideProps) {
  const aside = useRef<HTMLElement>(null);
  // Whoever opened it with the keyboard reads on here, and goes back with Escape.
  const cameFrom = useRef<Element | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: for each step anew
  useEffect(() => {
    cameFrom.current = document.activeElement;
    if (cameFrom.current?.matches('.timeline-row:focus-visible')) aside.current?.focus({ preventScroll: true });
  }, [row.key]);
  const close = () => {
    if (cameFrom.current instanceof HTMLElement) cameFrom.current.focus();
    onClose();
  };
  return (
    <aside
      ref={aside}
      className="card step-panel"
      aria-label={`Step ${row.name}`}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
      }}
    >
      <div className="card-head">
        <h2>{row.name}</h2>
        <button type="button" className="button button-quiet button-small" onClick={close} aria-label="Close the step">
          <Icon name="cross" />
        </button>
      </div>
      <div className="card-body">{children}</div>
    </aside>
  );
}
