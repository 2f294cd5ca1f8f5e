/** Filters of this dialect that no store index supports. They are checked on each run. */
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import type { RunRecord } from '../../../ports/stores/store.js';
import { AnyOf } from '../../parameters/multi-value.js';
import { Text } from '../../parameters/values.js';

const anyOf = (description: string) => Type.Optional(AnyOf(Text(LIMITS.maxWorkflowUrlLength, {}), description, 'may-be-inside'));

export const urlPartFilters = {
  host: anyOf('Host of the workflow URL, with the port if the URL has one'),
  path: anyOf('Path of the workflow URL'),
};

export interface UrlPartFilter {
  readonly host?: readonly string[] | undefined;
  readonly path?: readonly string[] | undefined;
}

/** Returns a predicate for the runs that match the filters, or null if neither filter is set. */
export function urlPartPredicate({ host, path }: UrlPartFilter): ((run: Pick<RunRecord, 'workflowUrl'>) => boolean) | null {
  if (!host && !path) return null;
  const hosts = host?.map((name) => name.toLowerCase());
  return ({ workflowUrl }) => {
    if (!URL.canParse(workflowUrl)) return false;
    const url = new URL(workflowUrl);
    const hasHost = hosts === undefined || hosts.includes(url.host) || hosts.includes(url.hostname);
    return hasHost && (path === undefined || path.includes(url.pathname));
  };
}
