/** Page of one run: its status, timeline, input, output and related runs, with actions. */
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { RunJournal } from '../../../../everstep/src/contract/runs.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { DescriptionList } from '../../components/description-list.js';
import { DialogClose, DialogWindow } from '../../components/dialogs.js';
import { FixedHeight } from '../../components/fixed-height.js';
import { Icon } from '../../components/icons.js';
import { JsonView } from '../../components/json-view.js';
import { Labels } from '../../components/labels.js';
import { PageTitle } from '../../components/page-title.js';
import { RunStateBadge, WaitingBadge } from '../../components/run-state.js';
import { ErrorState, FailureNotice, Skeleton } from '../../components/states.js';
import { DurationText } from '../../components/times/duration-text.js';
import { quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { useWindowWidth } from '../../components/times/window-width.js';
import { WorkflowUrl } from '../../components/url-text.js';
import { WorkflowLink } from '../../components/urls/workflow-link.js';
import { workflowName } from '../../components/urls/workflow-name.js';
import { ExplainCard } from './explain-card.js';
import { FailureCard } from './failure-card.js';
import { useRunJournal } from './journal/use-run-journal.js';
import { LineageCard } from './lineage-card.js';
import { RunActions } from './run-actions.js';
import { StepPanel } from './step-panel.js';
import { type TimelineRow, timelineOf } from './timeline.js';
import { TimelineView } from './timeline-view.js';
import './runs.css';

/** Returns the creation time in the URL; undefined selects the latest run with the id. */
export function useCreatedAt(): number | undefined {
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  return /^\d{1,15}$/.test(search.createdAt ?? '') ? Number(search.createdAt) : undefined;
}

export default function RunPage() {
  const { runId = '' } = useParams({ strict: false });
  const createdAt = useCreatedAt();
  const { query: run, loadMore } = useRunJournal(runId, createdAt);
  if (run.data === undefined)
    return (
      <>
        <PageTitle title={`Run ${runId}`} />
        {run.error ? (
          <ErrorState failure={run.error} subject="this run" onRetry={() => void run.refetch()} />
        ) : (
          <Skeleton lines={9} />
        )}
      </>
    );
  return <Run key={`${runId} ${run.data.workflowCreatedAt}`} journal={run.data} failure={run.error} loadMore={loadMore} />;
}

interface RunProps {
  readonly journal: RunJournal;
  readonly failure: Parameters<typeof FailureNotice>[0]['failure'] | null;
  /** Loads more steps; null if all are loaded. */
  readonly loadMore: (() => void) | null;
}

function Run({ journal, failure, loadMore }: RunProps) {
  const { workflowRunId: runId, workflowCreatedAt: createdAt, workflowState: state } = journal;
  const name = workflowName(journal.workflowUrl);
  const rows = useMemo(() => timelineOf(journal), [journal]);
  const { selected, select } = useSelectedStep(rows);
  const isWide = ['wide', 'full'].includes(useWindowWidth());
  const completedAt = journal.workflowRunCompletedAt ?? null;
  const isCallbackPending = journal.failureFunctionInfo?.state === 'CALLBACK_INPROGRESS';
  // On the page of a running run, each part has a fixed position and height, so that nothing moves.
  const [wasActive] = useState(state === 'RUN_STARTED' || isCallbackPending);
  const notYet = <span className="muted">not yet</span>;
  const timeline = (
    <Card title={`Timeline (${loadMore === null ? '' : 'first '}${quantity(rows.length, 'step')})`} flush>
      {rows.length === 0 && !wasActive ? (
        <p className="card-body muted">No steps recorded</p>
      ) : (
        <TimelineView
          rows={rows}
          from={createdAt}
          to={completedAt}
          selectedKey={selected?.key ?? null}
          onSelect={(row) => select(row.key)}
          fixed={wasActive}
        />
      )}
      {loadMore === null ? null : (
        <div className="card-body">
          <button type="button" className="button button-small" onClick={loadMore}>
            Load more steps
          </button>
        </div>
      )}
    </Card>
  );
  const panel = selected === null ? null : <StepPanel key={selected.key} journal={journal} row={selected} />;
  return (
    <>
      <PageTitle
        title={`${name} ${runId}`}
        lead={<WorkflowLink url={journal.workflowUrl} />}
        actions={<RunActions journal={journal} wasActive={wasActive} />}
      >
        <span className="run-title">
          <span>{name}</span>
          <span className="run-title-id mono">{runId}</span>
          {journal.waiting === undefined ? <RunStateBadge state={state} /> : <WaitingBadge />}
        </span>
      </PageTitle>
      <div className="run-columns" data-watched={wasActive ? '' : undefined}>
        <FixedHeight fixed={wasActive} className="run-status" label="Run status">
          {failure === null ? null : <FailureNotice failure={failure} />}
          {journal.error === undefined ? null : <FailureCard journal={journal} />}
          {isCallbackPending || (wasActive && journal.error === undefined) ? (
            <ExplainCard runId={runId} createdAt={createdAt} />
          ) : null}
        </FixedHeight>
        <Card title="Details">
          <DescriptionList
            items={[
              ['ID', <CopyId key="id" value={runId} valueName="run id" />],
              ['Workflow', <WorkflowUrl key="url" url={journal.workflowUrl} />],
              ['Created', <TimeText key="created" unixMs={createdAt} style="exact" />],
              ['Ended', completedAt === null ? notYet : <TimeText key="ended" unixMs={completedAt} style="exact" />],
              ['Duration', <DurationText key="duration" from={createdAt} to={completedAt} />],
              ['Labels', journal.labels.length === 0 ? null : <Labels key="labels" labels={journal.labels} />],
              ['Flow control key', journal.flowControlKey],
              ['Retries per step', String(journal.maxRetries)],
              ['Caller IP', journal.callerIP],
            ]}
          />
        </Card>
        {/* The timeline stays at the same position in the tree to keep its scroll position and focus. */}
        <div className={isWide && selected !== null ? 'run-with-step' : ''}>
          {timeline}
          {isWide && selected !== null ? (
            <StepAside row={selected} onClose={() => select(null)}>
              {panel}
            </StepAside>
          ) : null}
        </div>
        {isWide || selected === null ? null : (
          <DialogWindow
            title={selected.name}
            open
            wide
            high={wasActive}
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
          <FixedHeight fixed={wasActive} className="run-output" label="Run output">
            <Card title="Output">
              {journal.result === undefined ? (
                <p className="muted">{state === 'RUN_STARTED' ? 'No output yet' : 'No output'}</p>
              ) : (
                <JsonView text={JSON.stringify(journal.result)} label="Output of the run" />
              )}
            </Card>
          </FixedHeight>
        </div>
        <FixedHeight fixed={wasActive} className="run-related" label="Lineage">
          <LineageCard journal={journal} />
        </FixedHeight>
        {/* Last on the page because it can appear at any time. */}
        {journal.keptEvents === undefined ? null : (
          <Card title="Events received before the run waited for them">
            <ul className="related-runs">
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
  if (input === undefined) return <p className="muted">The input is no longer stored</p>;
  if (input.bodyBase64 !== undefined) return <p className="muted">Binary data: {input.bodyBase64.slice(0, 200)}</p>;
  return <JsonView text={input.body ?? ''} label="Input of the run" />;
}

/** Selects a timeline row. The selection is in the URL, so that it can be shared. */
function useSelectedStep(rows: readonly TimelineRow[]) {
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const row = rows.find(({ key }) => key === search.step);
  // The row of workflow code disappears when the code finishes. Keep it while it is selected, so that the user can read on.
  const [lastRow, setLastRow] = useState<TimelineRow | null>(null);
  if (row !== undefined && row !== lastRow) setLastRow(row);
  const selected = row ?? (lastRow !== null && lastRow.key === search.step ? lastRow : null);
  const select = (key: string | null) =>
    void navigate({
      to: '.',
      search: (before) => {
        const { step: _step, ...otherParameters } = before;
        return key === null ? otherParameters : { ...otherParameters, step: key };
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
  // If the panel was opened with the keyboard, it receives focus, and Escape returns focus to the row.
  const focusedBefore = useRef<Element | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs again for each step
  useLayoutEffect(() => {
    focusedBefore.current = document.activeElement;
    if (focusedBefore.current?.matches('.timeline-row:focus-visible')) aside.current?.focus({ preventScroll: true });
  }, [row.key]);
  const close = () => {
    if (focusedBefore.current instanceof HTMLElement) focusedBefore.current.focus();
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
        <button type="button" className="button button-quiet button-small" onClick={close} aria-label="Close step details">
          <Icon name="cross" />
        </button>
      </div>
      <div className="card-body">{children}</div>
    </aside>
  );
}
