/** Filters of dead letters as URL parameters, query parameters and filters of repairs, from the tables of the API. */
import { DEAD_LETTER_FILTERS, REPAIR_FILTERS } from '../../../../everstep/dist/contract/filters/dead-letter-filters.js';
import type { RepairFilter } from '../../../../everstep/src/contract/repairs.js';
import { fieldOf, invalidNamesOf, type Value, valuesOf } from '../../components/tables/api-filters.js';
import type { FilterField } from '../../components/tables/filter-bar.js';
import { type Filters, listOf } from '../../components/tables/filters.js';
import type { CountedField } from '../../components/tables/list-histogram.js';
import { exactTime, quantity } from '../../components/times/formats.js';
import { CALLBACK_TEXTS } from './callback-texts.js';

/** Filters of dead letters. The creation time is not one of them, because no page filters by it. */
const { workflowCreatedAt: _unused, ...FILTERS } = DEAD_LETTER_FILTERS;
export type EntryFilter = keyof typeof FILTERS;

/** Filters of the entries view. The groups view ignores those that groups do not support. */
// Object.keys returns the names of the table.
export const ENTRY_FILTERS = Object.keys(FILTERS) as readonly EntryFilter[];

/** Filters whose inputs are always shown. */
const ALWAYS_SHOWN: readonly EntryFilter[] = ['workflowUrl', 'workflowRunId', 'fromDate', 'toDate'];
/** Filters without an input, which only links set. */
const WITHOUT_INPUT: readonly EntryFilter[] = ['fingerprint'];

const STATE_TEXTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(CALLBACK_TEXTS).map(([state, { text }]) => [state, text]),
);

const fieldsOf = (names: readonly EntryFilter[]): readonly FilterField<EntryFilter>[] =>
  names.map((name) =>
    fieldOf(name, FILTERS[name], { anyText: 'Any or none', textOf: STATE_TEXTS, wide: name === 'workflowUrl' }),
  );
export const FIELDS = fieldsOf(ALWAYS_SHOWN);
export const WORKFLOW_URL_FIELD = fieldOf('workflowUrl', FILTERS.workflowUrl, { wide: true });
export const MORE_FIELDS = fieldsOf(ENTRY_FILTERS.filter((name) => ![...ALWAYS_SHOWN, ...WITHOUT_INPUT].includes(name)));
/** The filters that must be valid, including those without an input. */
export const ALL_FIELDS = fieldsOf(ENTRY_FILTERS);

/** Filters that the histogram sets. Groups match if they have dead letters in this time. */
export const RANGE = { from: 'fromDate', to: 'toDate' } as const;

/** Fields whose values can be counted. */
export const COUNTED_FIELDS: readonly CountedField<EntryFilter>[] = (
  ['workflowUrl', 'label', 'flowControlKey', 'callerIp', 'failureFunctionState'] as const
).map((field) => ({ field, label: FILTERS[field].label, parameter: field, isList: true, textOf: STATE_TEXTS }));

/** The counted fields by which groups can be filtered as well. */
export const COUNTED_IN_GROUPS: readonly CountedField<'workflowUrl'>[] = COUNTED_FIELDS.flatMap(({ parameter, ...field }) =>
  parameter === 'workflowUrl' ? [{ ...field, parameter }] : [],
);

/** Returns the query of a listing. */
export const entryQuery = (values: Filters<EntryFilter>): Readonly<Record<string, Value>> => valuesOf(FILTERS, values);

/**
 * Returns the labels of the URL parameters whose values are invalid. While there are any, nothing must be planned: without them, the
 * filter covers more.
 */
export function invalidLabelsOf({ dlqId, ...parameters }: Readonly<Record<string, string | undefined>>): readonly string[] {
  if (dlqId !== undefined) return listOf(dlqId) === undefined ? [REPAIR_FILTERS.dlqIds.label] : [];
  return invalidNamesOf(FILTERS, parameters).map((name) => FILTERS[name].label);
}

/** Returns the filter of a repair for URL parameters. Unknown and invalid parameters are ignored: see `invalidLabelsOf`. */
export function filterOf({ dlqId, ...parameters }: Readonly<Record<string, string | undefined>>): RepairFilter {
  const dlqIds = listOf(dlqId);
  if (dlqIds !== undefined) return { dlqIds: [...dlqIds] };
  // Each value has the type that its kind declares.
  return valuesOf(FILTERS, parameters) as RepairFilter;
}

const listText = (values: readonly string[]): string =>
  values.some((value) => value.includes(',')) ? JSON.stringify(values) : values.join(',');

/** Returns the URL parameters for a filter. */
export function parametersOf(filter: RepairFilter): Record<string, string> {
  const { dlqIds, workflowCreatedAt, ...otherFilters } = filter;
  const parameters: Record<string, string> = dlqIds === undefined ? {} : { dlqId: dlqIds.join(',') };
  for (const [name, value] of Object.entries(otherFilters))
    parameters[name] = Array.isArray(value) ? listText(value) : String(value);
  return parameters;
}

export interface FilterPart {
  readonly filter: keyof RepairFilter;
  readonly name: string;
  readonly values: readonly string[];
}

/** Describes a filter, one part per condition; empty if it covers everything. The caller replaces fingerprints by messages. */
export function describeFilter(filter: RepairFilter): readonly FilterPart[] {
  // Object.keys returns the names of the table.
  return (Object.keys(REPAIR_FILTERS) as readonly (keyof RepairFilter)[]).flatMap((name): readonly FilterPart[] => {
    const { kind, label } = REPAIR_FILTERS[name];
    const value = filter[name];
    // A filter from the start of time covers everything.
    if (value === undefined || (name === 'fromDate' && value === 0)) return [];
    if (name === 'dlqIds' && Array.isArray(value))
      return [{ filter: name, name: quantity(value.length, 'dead letter'), values: value }];
    if (kind === 'time') return [{ filter: name, name: label, values: [exactTime(Number(value), 'local')] }];
    return [{ filter: name, name: label, values: Array.isArray(value) ? value : [String(value)] }];
  });
}
