/** Dead letters grouped by error. */
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { DeadLetterGroup, DeadLetterGroupPage } from '../../../../everstep/src/contract/dead-letter-groups.js';
import { path } from '../../api/client.js';
import { useInstanceId, usePermissions } from '../../api/instances.js';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import { ActionButton } from '../../components/action-button.js';
import { sourceText } from '../../components/errors/shown-error.js';
import { Icon } from '../../components/icons.js';
import { ReadOnlyNote } from '../../components/read-only-note.js';
import { EmptyState } from '../../components/states.js';
import type { Column } from '../../components/tables/data-table.js';
import { FilterBar } from '../../components/tables/filter-bar.js';
import { type FilterField, invalidFieldsOf } from '../../components/tables/filter-fields.js';
import { useFilters } from '../../components/tables/filters.js';
import { InvalidFilters } from '../../components/tables/invalid-filters.js';
import { ListHistogram } from '../../components/tables/list-histogram.js';
import { ListTable } from '../../components/tables/list-table.js';
import { countText, quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { stringifySearch } from '../../search-parameters.js';
import { COUNTED_IN_GROUPS, entryQuery, RANGE, WORKFLOW_URL_FIELD } from './entry-filters.js';
import { type Mark, useMarkGroups } from './group-marks.js';
import { GroupSparkline, GroupStateBadge, GroupWorkflows } from './group-parts.js';
import { failureLocation, GROUP_STATES } from './group-text.js';
import { GroupTriageLines } from './group-triage.js';
import { GROUP_FILTERS, omitParameters, planOfGroups } from './plan-parameters.js';

const FIELDS: readonly FilterField<(typeof GROUP_FILTERS)[number]>[] = [
  {
    kind: 'choice',
    name: 'state',
    label: 'State',
    anyText: 'Any state',
    options: Object.entries(GROUP_STATES).map(([value, { text }]) => ({ value, text })),
  },
  WORKFLOW_URL_FIELD,
  { kind: 'time', name: 'fromDate', label: 'Last seen after' },
  { kind: 'time', name: 'toDate', label: 'First seen before' },
];

const read = ({ cursor, groups }: DeadLetterGroupPage): CursorPage<DeadLetterGroup> => ({
  rows: groups,
  cursor: cursor === '' ? null : cursor,
});
const idOf = ({ fingerprint }: DeadLetterGroup): string => fingerprint;
/** Maximum length of a message in the accessible name of a row. */
const MAX_NAME_LENGTH = 200;
const nameOf = ({ latest, message, count }: DeadLetterGroup): string =>
  `${quantity(count, 'dead letter')}: ${(latest?.message ?? message).slice(0, MAX_NAME_LENGTH)}`;

/** A location in the code. If there is little space, its directory is clipped. */
function SourceLocation({ text }: { readonly text: string }) {
  const nameStart = text.lastIndexOf('/') + 1;
  return (
    <span className="ends mono" title={text}>
      <span className="ends-first clip">{text.slice(0, nameStart)}</span>
      <span className="ends-last clip">{text.slice(nameStart)}</span>
    </span>
  );
}

const COLUMNS: readonly Column<DeadLetterGroup>[] = [
  {
    id: 'state',
    header: 'State',
    sortBy: ({ state }) => state,
    width: '108px',
    stackUnder: 'error',
    cell: ({ state, acknowledgedAt, needsAttention, count }) => (
      <div className="group-error">
        <span>
          <GroupStateBadge state={state} />
        </span>
        {/* An empty line reserves the space, so that the badge does not move when the group is acknowledged or snoozed. */}
        <span className="group-details">
          {state !== 'known' && count > 0 && !needsAttention ? 'snoozed' : acknowledgedAt === null ? null : 'acknowledged'}
        </span>
      </div>
    ),
  },
  {
    id: 'error',
    header: 'Error',
    width: 'minmax(0, 5fr)',
    isLink: true,
    cell: (group) => (
      <div className="group-error">
        <span className="group-message mono">{group.latest?.message ?? group.message}</span>
        <span className="group-details group-location">
          <span>{failureLocation(group)}</span>
          {group.latest?.source ? <SourceLocation text={sourceText(group.latest.source)} /> : null}
        </span>
        <GroupTriageLines group={group} />
      </div>
    ),
  },
  {
    id: 'hours',
    header: 'Last 24 hours',
    width: 'clamp(96px, 9vw, 148px)',
    shownFrom: 'full',
    cell: (group) => <GroupSparkline group={group} />,
  },
  {
    id: 'count',
    header: 'Count',
    sortBy: ({ count }) => count,
    width: '76px',
    align: 'right',
    cell: ({ count, total }) => (
      <div>
        <strong>{countText(count)}</strong>
        <div className="group-details">of {countText(total)}</div>
      </div>
    ),
  },
  {
    id: 'workflows',
    header: 'Workflows',
    width: 'minmax(0, 2fr)',
    shownFrom: 'full',
    stackUnder: 'error',
    stackBelow: true,
    cell: (group) => <GroupWorkflows group={group} max={2} />,
  },
  {
    id: 'seen',
    header: 'Seen',
    sortBy: ({ lastSeenAt }) => lastSeenAt,
    width: '140px',
    shownFrom: 'full',
    stackUnder: 'error',
    stackBelow: true,
    cell: ({ firstSeenAt, lastSeenAt }) => (
      <div className="group-seen">
        <span className="muted">first</span>
        <TimeText unixMs={firstSeenAt} style="relative" label="First seen" />
        <span className="muted">last</span>
        <TimeText unixMs={lastSeenAt} style="relative" label="Last seen" />
      </div>
    ),
  },
];

const NO_IDS: ReadonlySet<string> = new Set();
const NO_MATCH = 'None of the listed groups matches the filters anymore';
const MARK_ACTIONS = [
  { kind: 'acknowledge', text: 'Acknowledge' },
  { kind: 'resolve', text: 'Resolve' },
] as const satisfies readonly { readonly kind: Mark; readonly text: string }[];

export function GroupsView() {
  const instanceId = useInstanceId();
  const permissions = usePermissions();
  const mark = useMarkGroups();
  const filters = useFilters(GROUP_FILTERS);
  const { state, ...entryFilters } = filters.values;
  const invalidFields = invalidFieldsOf(FIELDS, filters.values);
  const [selectedIds, setSelectedIds] = useState(NO_IDS);
  const [busyMark, setBusyMark] = useState<Mark | null>(null);
  const query = entryQuery(entryFilters);
  const list = useCursorList<DeadLetterGroupPage, DeadLetterGroup>({
    topic: 'dlq',
    name: 'groups',
    url: '/v2/workflows/dlq/groups',
    query: { ...query, state },
    read,
    idOf,
    enabled: invalidFields.length === 0,
  });
  // Rows that have left the list or are hidden by a filter are no longer selected.
  const selected = list.rows.filter((group) => selectedIds.has(group.fingerprint) && !list.removedIds.has(group.fingerprint));
  const coveredGroups = selected.length > 0 ? selected : list.rows.filter(({ fingerprint }) => !list.removedIds.has(fingerprint));
  const entryCount = coveredGroups.reduce((sum, { count }) => sum + count, 0);
  // A group is listed if some of its dead letters match, but its count includes all of them.
  const isLimited = Object.keys(entryFilters).length > 0;
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const hrefOf = ({ fingerprint }: DeadLetterGroup) =>
    path`/q/${instanceId}/dead-letters` + stringifySearch({ ...omitParameters(search, 'state'), view: 'entries', fingerprint });
  const markSelectedGroups = async (kind: Mark) => {
    setBusyMark(kind);
    const outcome = await mark(
      kind,
      selected.map(({ fingerprint }) => fingerprint),
    );
    setBusyMark(null);
    if (outcome.ok) setSelectedIds(NO_IDS);
  };
  // Entries cannot be filtered by group state. If a state is set here, the repair must list the groups explicitly.
  const fingerprints = selected.length > 0 || state !== undefined ? coveredGroups.map(({ fingerprint }) => fingerprint) : null;
  const plan = planOfGroups(fingerprints, entryFilters);
  const planDisabledReason = permissions.readOnlyReason ?? (plan === null ? NO_MATCH : undefined);
  return (
    <>
      <FilterBar filters={filters} fields={FIELDS} />
      {invalidFields.length > 0 ? (
        <InvalidFilters fields={invalidFields} rowsName="groups" onClear={filters.clear} />
      ) : (
        <>
          {/* The counts of the histogram cannot be filtered by group state. */}
          {state === undefined ? (
            <ListHistogram
              listName="dead-letters"
              list={list}
              query={query}
              filters={filters}
              range={RANGE}
              fields={COUNTED_IN_GROUPS}
            />
          ) : null}
          <ListTable
            label="Groups of dead letters"
            list={list}
            rowsName="groups"
            columns={COLUMNS}
            idOf={idOf}
            nameOf={nameOf}
            hrefOf={hrefOf}
            estimatedHeight={86}
            selection={{ ids: selectedIds, onChange: setSelectedIds }}
            empty={
              filters.isFiltered ? (
                <EmptyState
                  title="No matching groups"
                  action={
                    <button type="button" className="button" onClick={filters.clear}>
                      Clear filters
                    </button>
                  }
                />
              ) : (
                <EmptyState title="No dead letters">Runs that fail permanently appear here, grouped by error.</EmptyState>
              )
            }
          />
          {list.rows.length === 0 ? null : (
            <section
              className="selection-bar"
              aria-label="Actions for selected groups"
              data-none={selected.length === 0 ? '' : undefined}
            >
              <span role="status">
                {plan === null ? (
                  NO_MATCH
                ) : selected.length === 0 ? (
                  <>
                    No groups selected: a repair applies to {isLimited ? 'at most' : 'all'}{' '}
                    <strong>{quantity(entryCount, 'dead letter')}</strong>
                    {list.hasMore && state === undefined ? ' and to the groups not loaded yet' : ''}
                  </>
                ) : (
                  <>
                    <strong>{quantity(selected.length, 'group')}</strong> selected, {isLimited ? 'at most ' : ''}
                    <strong>{quantity(entryCount, 'dead letter')}</strong>
                  </>
                )}
              </span>
              <div className="line">
                <ReadOnlyNote />
                <ActionButton
                  variant="quiet"
                  disabledReason={selected.length === 0 ? 'No groups are selected' : undefined}
                  onClick={() => setSelectedIds(NO_IDS)}
                >
                  Clear selection
                </ActionButton>
                {MARK_ACTIONS.map(({ kind, text }) => (
                  <ActionButton
                    key={kind}
                    disabledReason={permissions.readOnlyReason ?? (selected.length === 0 ? 'Select groups first' : undefined)}
                    busy={busyMark !== null}
                    onClick={() => markSelectedGroups(kind)}
                  >
                    {busyMark === kind ? 'Working…' : text}
                  </ActionButton>
                ))}
                {plan !== null && planDisabledReason === undefined ? (
                  <Link to="/q/$instanceId/repairs/new" params={{ instanceId }} search={plan} className="button button-primary">
                    <Icon name="repairs" />
                    {selected.length === 0 ? 'Plan repair for all' : 'Plan repair'}
                  </Link>
                ) : (
                  <ActionButton variant="primary" disabledReason={planDisabledReason}>
                    <Icon name="repairs" />
                    Plan repair
                  </ActionButton>
                )}
              </div>
            </section>
          )}
        </>
      )}
    </>
  );
}
