/** Groups of dead letters: what went wrong, since when, how often, where. */
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { DeadLetterGroup, DeadLetterGroupPage } from '../../../../everstep/src/contract/dead-letter-groups.js';
import { useMay, useQueueId } from '../../api/instances.js';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import type { Column } from '../../components/data-table.js';
import { DeedButton } from '../../components/deed-button.js';
import { FilterBar, type FilterField } from '../../components/filter-bar.js';
import { listWithWholeOf, useFilters } from '../../components/filters.js';
import { countText, quantity } from '../../components/formats.js';
import { Icon } from '../../components/icons.js';
import { ListTable } from '../../components/list-table.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { EmptyState } from '../../components/states.js';
import { TimeText } from '../../components/time-text.js';
import { GROUP_FILTERS, planOfGroups, without } from './choice.js';
import { type Mark, useMarkGroups } from './group-marks.js';
import { GroupSparkline, GroupStateBadge, GroupWorkflows } from './group-parts.js';
import { GROUP_STATES, whereOf } from './group-words.js';

const FIELDS: readonly FilterField<(typeof GROUP_FILTERS)[number]>[] = [
  {
    kind: 'choice',
    name: 'state',
    label: 'State',
    any: 'Any state',
    options: Object.entries(GROUP_STATES).map(([value, { text }]) => ({ value, text })),
  },
  { kind: 'list', name: 'workflowUrl', label: 'Workflow URL', wide: true },
  { kind: 'time', name: 'fromDate', label: 'Seen since' },
  { kind: 'time', name: 'toDate', label: 'First seen until' },
];

const read = ({ cursor, groups }: DeadLetterGroupPage): CursorPage<DeadLetterGroup> => ({
  rows: groups,
  cursor: cursor === '' ? null : cursor,
});
const idOf = ({ fingerprint }: DeadLetterGroup): string => fingerprint;
const nameOf = ({ message, count }: DeadLetterGroup): string => `${quantity(count, 'dead letter')}: ${message}`;

const COLUMNS: readonly Column<DeadLetterGroup>[] = [
  {
    id: 'state',
    header: 'State',
    width: '108px',
    under: 'error',
    cell: ({ state, acknowledgedAt }) => (
      <div className="group-error">
        <span>
          <GroupStateBadge state={state} />
        </span>
        {/* The line is there before, and the badge stays where it is when it is acknowledged. */}
        <span className="group-where">{acknowledgedAt === null ? null : 'acknowledged'}</span>
      </div>
    ),
  },
  {
    id: 'error',
    header: 'What went wrong',
    width: 'minmax(0, 3fr)',
    cell: (group) => (
      <div className="group-error">
        <span className="group-message mono">{group.message}</span>
        <span className="group-where">{whereOf(group)}</span>
      </div>
    ),
  },
  {
    id: 'hours',
    header: 'Last 24 hours',
    width: 'clamp(96px, 11vw, 148px)',
    under: 'error',
    cell: (group) => <GroupSparkline group={group} />,
  },
  {
    id: 'count',
    header: 'Now',
    width: '76px',
    align: 'right',
    cell: ({ count, total }) => (
      <div>
        <strong>{countText(count)}</strong>
        <div className="group-where">of {countText(total)}</div>
      </div>
    ),
  },
  {
    id: 'workflows',
    header: 'Workflows',
    width: 'minmax(0, 2fr)',
    from: 'wide',
    under: 'error',
    cell: (group) => <GroupWorkflows group={group} most={2} />,
  },
  {
    id: 'seen',
    header: 'Seen',
    width: '140px',
    from: 'wide',
    under: 'error',
    cell: ({ firstSeenAt, lastSeenAt }) => (
      <div className="group-seen">
        <span className="muted">first</span>
        <TimeText unixMs={firstSeenAt} style="relative" of="First seen" />
        <span className="muted">last</span>
        <TimeText unixMs={lastSeenAt} style="relative" of="Last seen" />
      </div>
    ),
  },
];

const NONE: ReadonlySet<string> = new Set();
const MARKS = [
  { kind: 'acknowledge', text: 'Acknowledge' },
  { kind: 'resolve', text: 'Resolve' },
] as const satisfies readonly { readonly kind: Mark; readonly text: string }[];

export function GroupsView() {
  const queueId = useQueueId();
  const navigate = useNavigate();
  const may = useMay();
  const mark = useMarkGroups();
  const filters = useFilters(GROUP_FILTERS);
  const { state, workflowUrl, fromDate, toDate } = filters.values;
  const [ids, setIds] = useState(NONE);
  const [busy, setBusy] = useState<Mark | null>(null);
  const list = useCursorList<DeadLetterGroupPage, DeadLetterGroup>({
    topic: 'dlq',
    name: 'groups',
    url: '/v2/workflows/dlq/groups',
    query: { state, workflowUrl: listWithWholeOf(workflowUrl), fromDate, toDate },
    read,
    idOf,
  });
  // What has left the list, or is hidden by a filter, is not chosen any more.
  const chosen = list.rows.filter((group) => ids.has(group.fingerprint) && !list.gone.has(group.fingerprint));
  const covered = chosen.length > 0 ? chosen : list.rows.filter(({ fingerprint }) => !list.gone.has(fingerprint));
  const entries = covered.reduce((sum, { count }) => sum + count, 0);
  const open = ({ fingerprint }: DeadLetterGroup) =>
    navigate({
      to: '/q/$queueId/dead-letters',
      params: { queueId },
      search: (before) => ({ ...without(before, 'state'), view: 'entries', fingerprint }),
    });
  const markChosen = async (kind: Mark) => {
    setBusy(kind);
    const outcome = await mark(
      kind,
      chosen.map(({ fingerprint }) => fingerprint),
    );
    setBusy(null);
    if (outcome.ok) setIds(NONE);
  };
  // All groups of a queue are named only where a filter by state, which entries do not have, hides some of them.
  const named = chosen.length > 0 || state !== undefined ? covered.map(({ fingerprint }) => fingerprint) : [];
  return (
    <>
      <FilterBar filters={filters} fields={FIELDS} />
      <ListTable
        label="Groups of dead letters"
        list={list}
        what="groups"
        columns={COLUMNS}
        idOf={idOf}
        nameOf={nameOf}
        onOpen={open}
        estimatedHeight={66}
        selection={{ ids, onChange: setIds }}
        empty={
          filters.any ? (
            <EmptyState
              title="No group matches these filters"
              action={
                <button type="button" className="button" onClick={filters.clear}>
                  Clear filters
                </button>
              }
            />
          ) : (
            <EmptyState title="The queue is empty">
              Runs that fail after all their retries come here, grouped by what went wrong. At the moment there is nothing to
              repair.
            </EmptyState>
          )
        }
      />
      {list.rows.length === 0 ? null : (
        <section className="choice-bar" aria-label="With the chosen groups" data-none={chosen.length === 0 ? '' : undefined}>
          <span role="status">
            {chosen.length === 0 ? (
              <>
                Nothing chosen: all that is shown, <strong>{quantity(entries, 'dead letter')}</strong>
                {list.hasMore && state === undefined ? ' and those of the groups below' : ''}
              </>
            ) : (
              <>
                <strong>{quantity(chosen.length, 'group')}</strong> chosen, <strong>{quantity(entries, 'dead letter')}</strong>
              </>
            )}
          </span>
          <div className="line">
            <ReadOnlyNote />
            <DeedButton look="quiet" off={chosen.length === 0 ? 'Nothing is chosen' : undefined} onClick={() => setIds(NONE)}>
              Choose none
            </DeedButton>
            {MARKS.map(({ kind, text }) => (
              <DeedButton
                key={kind}
                off={may.readOnly ?? (chosen.length === 0 ? 'Choose groups first' : undefined)}
                busy={busy !== null}
                onClick={() => markChosen(kind)}
              >
                {busy === kind ? 'One moment …' : text}
              </DeedButton>
            ))}
            {may.write ? (
              <Link
                to="/q/$queueId/repairs/new"
                params={{ queueId }}
                search={planOfGroups(named, filters.values)}
                className="button button-primary"
              >
                <Icon name="repairs" />
                {chosen.length === 0 ? 'Plan a repair of all' : 'Plan a repair'}
              </Link>
            ) : (
              <DeedButton look="primary" off={may.readOnly}>
                <Icon name="repairs" />
                Plan a repair
              </DeedButton>
            )}
          </div>
        </section>
      )}
    </>
  );
}
