/** The facet of each filter of dead letters, and the values that an entry has in it. */
import type { RunSettings } from '../../../../engine/runs/run.js';
import type { DeadLetterFilter } from '../../../../ports/stores/filters.js';
import { integer, json, type Row, text, textOrNull } from '../../connection/columns.js';
import { FACET, type Facet, type FacetValue, NO_STATE, type RunKind, separatedPrefixes, stateValue } from './facets.js';

/** Columns from which the values are read, of the entry `d` and of its run `r`. */
export const FACET_COLUMNS = `d.failure_function_state, d.response_status, d.fingerprint,
  r.workflow_run_id, r.workflow_url, r.caller_ip, r.settings, r.created_at AS run_created_at`;

interface FacetedFilter {
  readonly facet: Facet;
  readonly valuesOf: (row: Row, settings: RunSettings) => readonly (string | number | null | undefined)[];
}

/** Filters that the listing does not resolve by looking up values of one facet. */
type ListingFilter = 'kind' | 'dlqIds' | 'workflowRunIdPrefix' | 'fromDate' | 'toDate' | 'failureFunctionStates';

/** The filters that a facet resolves. Numbers are indexed as digits. */
const FACETED_FILTERS: Readonly<Record<Exclude<keyof DeadLetterFilter, ListingFilter>, FacetedFilter>> = {
  workflowRunId: { facet: FACET.deadLetterRunId, valuesOf: (row) => [text(row, 'workflow_run_id')] },
  workflowCreatedAt: { facet: FACET.deadLetterRunCreatedAt, valuesOf: (row) => [integer(row, 'run_created_at')] },
  workflowUrls: { facet: FACET.deadLetterUrl, valuesOf: (row) => [text(row, 'workflow_url')] },
  labels: { facet: FACET.deadLetterLabel, valuesOf: (_, { labels }) => labels },
  callerIps: { facet: FACET.deadLetterCallerIp, valuesOf: (row) => [text(row, 'caller_ip')] },
  flowControlKeys: { facet: FACET.deadLetterFlowControlKey, valuesOf: (_, { flowControl }) => [flowControl?.key] },
  // Entries of versions without messages have no status in the index.
  responseStatuses: {
    facet: FACET.deadLetterResponseStatus,
    valuesOf: (row) => [row.response_status === null ? null : integer(row, 'response_status')],
  },
  fingerprints: { facet: FACET.deadLetterFingerprint, valuesOf: (row) => [textOrNull(row, 'fingerprint')] },
  queues: { facet: FACET.deadLetterQueue, valuesOf: (_, { message }) => [message?.queue] },
  urlGroups: { facet: FACET.deadLetterUrlGroup, valuesOf: (_, { message }) => [message?.urlGroup] },
  scheduleIds: { facet: FACET.deadLetterSchedule, valuesOf: (_, { message }) => [message?.scheduleId] },
};

/** Returns the facets that the filter selects by, each with its values. An empty list of values matches nothing. */
export function selectedFacets(
  filter: DeadLetterFilter,
): readonly { readonly facet: Facet; readonly values: readonly string[] }[] {
  return Object.entries(FACETED_FILTERS).flatMap(([name, { facet }]) => {
    // The entries of the table are fields of the filter.
    const filterValue = filter[name as keyof typeof FACETED_FILTERS];
    return filterValue === undefined
      ? []
      : [{ facet, values: (Array.isArray(filterValue) ? filterValue : [filterValue]).map(String) }];
  });
}

export const kindOf = ({ message }: RunSettings): RunKind => (message ? 'message' : 'workflow');

export const stateFacet = (kind: RunKind, state: string | null): FacetValue => ({
  facet: FACET.deadLetterState,
  value: stateValue(kind, state ?? NO_STATE),
});

/** Returns all values of an entry, from a row with FACET_COLUMNS. */
export function facetsOf(row: Row): readonly FacetValue[] {
  const settings = json<RunSettings>(row, 'settings');
  const values = Object.values(FACETED_FILTERS).flatMap(({ facet, valuesOf }) =>
    valuesOf(row, settings).flatMap((value) => (value === null || value === undefined ? [] : [{ facet, value: String(value) }])),
  );
  const prefixes = separatedPrefixes(text(row, 'workflow_run_id'));
  return [
    stateFacet(kindOf(settings), textOrNull(row, 'failure_function_state')),
    ...values,
    ...prefixes.map((value) => ({ facet: FACET.deadLetterRunIdPrefix, value })),
  ];
}
