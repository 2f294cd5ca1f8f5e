/** Compares two runs of a workflow: their first differences and all steps side by side. */
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { RunComparison } from '../../../../everstep/src/contract/run-tools.js';
import { path } from '../../api/client.js';
import { useApi } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { prettyJson } from '../../components/json/json-text.js';
import { PageTitle } from '../../components/page-title.js';
import { RunLink } from '../../components/run-link.js';
import { RunStateBadge } from '../../components/run-state.js';
import { EmptyState, ErrorState, Skeleton } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { UrlText } from '../../components/url-text.js';
import { lineDifference } from './line-difference.js';
import './runs.css';

type ComparedStep = RunComparison['steps'][number];

const DIFFERENCE_NAMES: Readonly<Record<RunComparison['differences'][number]['kind'], string>> = {
  input: 'Input',
  result: 'Result',
  step: 'Steps',
  length: 'Steps',
  outcome: 'Outcome',
};

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const runsIn = (data: unknown) => {
  // The cache holds only comparisons under this key.
  const comparison = data as RunComparison | undefined;
  return comparison === undefined ? [] : [comparison.left, comparison.right];
};
const relatedIn = (data: unknown): readonly string[] => runsIn(data).map(({ workflowRunId }) => workflowRunId);
/** While both runs have ended, other runs do not change the comparison that the user reads. */
const isFinal = (data: unknown): boolean => runsIn(data).every(({ workflowState }) => workflowState !== 'RUN_STARTED');

const idOf = (step: ComparedStep): string => String(step.index);

const COLUMNS: readonly Column<ComparedStep>[] = [
  { id: 'index', header: 'Step', width: '48px', align: 'right', cell: ({ index }) => index + 1 },
  { id: 'name', header: 'Name', width: 'minmax(0, 3fr)', cell: ({ stepName }) => <div className="clip">{stepName}</div> },
  { id: 'type', header: 'Type', width: '130px', shownFrom: 'medium', cell: ({ stepType }) => stepType },
  {
    id: 'same',
    header: 'Result',
    width: '160px',
    cell: ({ same, left, right }) =>
      same ? (
        <StatusBadge tone="quiet" icon="equal">
          Same
        </StatusBadge>
      ) : (
        <StatusBadge tone="warn">
          {left === null ? 'Only on the right' : right === null ? 'Only on the left' : 'Differs'}
        </StatusBadge>
      ),
  },
];

export default function ComparePage() {
  const { runId = '' } = useParams({ strict: false });
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const { data, error, refetch } = useApi<RunComparison>({
    topic: 'runs',
    name: 'compare',
    url: path`/v2/workflows/runs/${runId}/compare`,
    query: { createdAt: search.createdAt, with: search.with, withCreatedAt: search.withCreatedAt },
    live: { runIds: search.with === undefined ? [runId] : [runId, search.with], relatedIn, isFinal },
  });
  return (
    <>
      <PageTitle
        title="Compare runs"
        lead="Compares this run (left) with the last successful run of the same workflow (right), or with another run of your choice."
      />
      <OtherRunForm />
      {data === undefined ? (
        error ? (
          error.status === 404 ? (
            <EmptyState title="No run to compare with">{error.text}</EmptyState>
          ) : (
            <ErrorState failure={error} subject="the comparison" onRetry={() => void refetch()} />
          )
        ) : (
          <Skeleton lines={9} />
        )
      ) : (
        <Comparison comparison={data} />
      )}
    </>
  );
}

/** Form that selects the run on the right. */
function OtherRunForm() {
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const navigate = useNavigate();
  const [otherRunId, setOtherRunId] = useState(search.with ?? '');
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault();
        void navigate({
          to: '.',
          search: ({ with: _with, withCreatedAt: _withCreatedAt, ...otherParameters }) =>
            otherRunId.trim() === '' ? otherParameters : { ...otherParameters, with: otherRunId.trim() },
        });
      }}
    >
      <div className="field field-wide">
        <label className="field-label" htmlFor="compare-with">
          Compare with run
        </label>
        <input
          id="compare-with"
          className="input"
          placeholder="Last successful run"
          value={otherRunId}
          onChange={(event) => setOtherRunId(event.target.value)}
        />
      </div>
      <button type="submit" className="button">
        Compare
      </button>
    </form>
  );
}

function Comparison({ comparison }: { readonly comparison: RunComparison }) {
  const { left, right, differences, steps } = comparison;
  const [showsAll, setShowsAll] = useState(false);
  const [selectedId, setSelectedId] = useState<string | null>(null);
  const shownSteps = useMemo(() => (showsAll ? steps : steps.filter(({ same }) => !same)), [showsAll, steps]);
  const step = steps.find((candidate) => idOf(candidate) === selectedId);
  return (
    <div className="stack">
      <div className="compare-heads">
        {(
          [
            ['Left', left],
            ['Right', right],
          ] as const
        ).map(([title, run]) => (
          <Card key={title} title={title}>
            <div className="related-runs">
              <RunLink runId={run.workflowRunId} createdAt={run.workflowCreatedAt} />
              <p className="line">
                <RunStateBadge state={run.workflowState} />
                <TimeText unixMs={run.workflowCreatedAt} style="exact" />
              </p>
              <UrlText url={run.workflowUrl} />
            </div>
          </Card>
        ))}
      </div>
      {differences.length === 0 ? (
        <p className="notice" data-tone="info">
          No differences: both runs have the same input, steps, results and outcome.
        </p>
      ) : (
        <Card title={differences.length === 1 ? 'First difference' : 'First difference of each kind'}>
          <div className="stack">
            {differences.map((difference) => (
              <section key={difference.kind} className="stack" aria-label={`Difference: ${DIFFERENCE_NAMES[difference.kind]}`}>
                {differences.length === 1 ? null : <h3>{DIFFERENCE_NAMES[difference.kind]}</h3>}
                <p>{capitalize(difference.message)}</p>
                <Difference left={difference.left} right={difference.right} subject={DIFFERENCE_NAMES[difference.kind]} />
              </section>
            ))}
          </div>
        </Card>
      )}
      {step === undefined ? null : (
        <Card
          title={`Step ${step.index + 1}: ${step.stepName}`}
          actions={
            <button type="button" className="button button-small" onClick={() => setSelectedId(null)}>
              Close
            </button>
          }
        >
          <Difference left={step.left?.out ?? null} right={step.right?.out ?? null} subject={`Step ${step.index + 1}`} />
        </Card>
      )}
      <Card
        title="Steps"
        flush
        actions={
          <label className="line">
            <input type="checkbox" checked={showsAll} onChange={(event) => setShowsAll(event.target.checked)} />
            Show identical steps
          </label>
        }
      >
        {shownSteps.length === 0 ? (
          <EmptyState title={steps.length === 0 ? 'No recorded steps' : `No differences in ${quantity(steps.length, 'step')}`} />
        ) : (
          <DataTable
            label="Steps of both runs"
            columns={COLUMNS}
            rows={shownSteps}
            idOf={idOf}
            onOpen={(row) => setSelectedId(idOf(row))}
          />
        )}
      </Card>
    </div>
  );
}

function Difference({
  left,
  right,
  subject,
}: {
  readonly left: string | null;
  readonly right: string | null;
  readonly subject: string;
}) {
  const lines = useMemo(() => lineDifference(prettyJson(left ?? ''), prettyJson(right ?? '')), [left, right]);
  const sides = [
    ['Left', left, lines.left],
    ['Right', right, lines.right],
  ] as const;
  return (
    <div className="difference">
      {sides.map(([side, text, sideLines]) => (
        <section key={side} aria-label={`${side}: ${subject}`}>
          <h3>{side}</h3>
          {text === null ? (
            <p className="muted">None</p>
          ) : (
            <pre>
              {sideLines.map((line, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a line is identified by its position
                <span key={index} className="difference-line" data-changed={line.isChanged ? '' : undefined}>
                  {line.isChanged ? <span className="visually-hidden">differs: </span> : null}
                  {line.text}
                </span>
              ))}
            </pre>
          )}
        </section>
      ))}
    </div>
  );
}
