/** The facets of each filter of runs, and the values that a run has in them. */
import type { Run, RunStatus } from '../../../../engine/runs/run.js';
import type { RunFilter } from '../../../../ports/stores/filters.js';
import { FACET, type Facet, type FacetValue, type RunKind, stateValue } from './facets.js';

type IndexedRun = Pick<Run, 'status' | 'workflowUrl' | 'callerIp' | 'workflowRunId' | 'settings'>;

interface FacetedFilter extends Readonly<Partial<Record<RunKind, Facet>>> {
  readonly valuesOf: (run: IndexedRun) => readonly (string | undefined)[];
}

/** Filters that the listing does not resolve by looking up values of one facet. */
type ListingFilter = 'kind' | 'runKeys' | 'workflowUrlPrefix' | 'createdAt' | 'fromDate' | 'toDate' | 'statuses';

/** The filters that facets resolve. If a kind has no facet, the index has no such values of that kind. */
const FACETED_FILTERS: Readonly<Record<Exclude<keyof RunFilter, ListingFilter>, FacetedFilter>> = {
  // Messages are found by their ids without the index.
  workflowRunId: { workflow: FACET.runId, valuesOf: ({ workflowRunId }) => [workflowRunId] },
  workflowUrls: { workflow: FACET.runUrl, message: FACET.messageUrl, valuesOf: ({ workflowUrl }) => [workflowUrl] },
  labels: { workflow: FACET.runLabel, message: FACET.messageLabel, valuesOf: ({ settings }) => settings.labels },
  callerIps: { workflow: FACET.runCallerIp, message: FACET.messageCallerIp, valuesOf: ({ callerIp }) => [callerIp] },
  flowControlKeys: {
    workflow: FACET.runFlowControlKey,
    message: FACET.messageFlowControlKey,
    valuesOf: ({ settings }) => [settings.flowControl?.key],
  },
  queues: { message: FACET.messageQueue, valuesOf: ({ settings }) => [settings.message?.queue] },
  urlGroups: { message: FACET.messageUrlGroup, valuesOf: ({ settings }) => [settings.message?.urlGroup] },
  scheduleIds: { message: FACET.messageSchedule, valuesOf: ({ settings }) => [settings.message?.scheduleId] },
};
const FILTERS = Object.values(FACETED_FILTERS);

/** Returns the facets that the filter selects by, each with its values. Filters without a facet for the kind are ignored. */
export function selectedFacets(
  filter: RunFilter,
  kind: RunKind,
): readonly { readonly facet: Facet; readonly values: readonly string[] }[] {
  return Object.entries(FACETED_FILTERS).flatMap(([name, facets]) => {
    // The entries of the table are fields of the filter.
    const filterValue = filter[name as keyof typeof FACETED_FILTERS];
    const facet = facets[kind];
    return filterValue === undefined || facet === undefined
      ? []
      : [{ facet, values: typeof filterValue === 'string' ? [filterValue] : filterValue }];
  });
}

export const statusFacet = (kind: RunKind, status: RunStatus): FacetValue => ({
  facet: FACET.runStatus,
  value: stateValue(kind, status),
});

/** Returns all values under which a run is found. */
export function runFacetsOf(run: IndexedRun): readonly FacetValue[] {
  const kind: RunKind = run.settings.message ? 'message' : 'workflow';
  const facetValues: FacetValue[] = [statusFacet(kind, run.status)];
  for (const filter of FILTERS) {
    const facet = filter[kind];
    if (facet === undefined) continue;
    for (const value of filter.valuesOf(run)) if (value !== undefined) facetValues.push({ facet, value });
  }
  return facetValues;
}
