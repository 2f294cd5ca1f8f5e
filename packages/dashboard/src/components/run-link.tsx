/** Link to a run. A run id can be reused after the run has ended, so the link also contains the creation time. */
import { Link } from '@tanstack/react-router';
import { type ReactNode, use } from 'react';
import { path } from '../api/client.js';
import { useInstanceId } from '../api/instances.js';
import { stringifySearch } from '../search-parameters.js';
import { InTableContext } from './tables/in-table.js';
import { RowLink } from './tables/row-link.js';

const TAIL_LENGTH = 6;

export interface RunLinkProps {
  readonly runId: string;
  /** Creation time, Unix ms. Default: the latest run with the id. */
  readonly createdAt?: number | undefined;
  readonly children?: ReactNode;
}

/** Path of the page of a run. */
export const runPath = (instanceId: string, runId: string, createdAt?: number): string =>
  path`/q/${instanceId}/runs/${runId}` + stringifySearch({ createdAt });

/** A run id that is clipped in its middle: generated ids start with the time, so their ends distinguish them. */
export function RunId({ runId }: { readonly runId: string }) {
  if (runId.length <= 2 * TAIL_LENGTH) return <span className="clip">{runId}</span>;
  return (
    <span className="ends">
      <span className="ends-first clip">{runId.slice(0, -TAIL_LENGTH)}</span>
      <span className="ends-last">{runId.slice(-TAIL_LENGTH)}</span>
    </span>
  );
}

export function RunLink({ runId, createdAt, children }: RunLinkProps) {
  const instanceId = useInstanceId();
  const inTable = use(InTableContext);
  const search: Readonly<Record<string, string>> = createdAt === undefined ? {} : { createdAt: String(createdAt) };
  const text = children ?? <RunId runId={runId} />;
  if (inTable)
    return (
      <RowLink href={runPath(instanceId, runId, createdAt)} title={runId} className="mono run-link">
        {text}
      </RowLink>
    );
  return (
    <Link to="/q/$instanceId/runs/$runId" params={{ instanceId, runId }} search={search} className="mono run-link" title={runId}>
      {text}
    </Link>
  );
}
