/** The way to a run. An id may be used again after a run has ended, so the time of creation goes along. */
import { Link } from '@tanstack/react-router';
import { use } from 'react';
import { useQueueId } from '../api/instances.js';
import { InTable } from './in-table.js';

const TAIL = 6;

export interface RunLinkProps {
  readonly runId: string;
  /** Unix ms; absent: the latest run with the id. */
  readonly createdAt?: number | undefined;
  readonly children?: React.ReactNode;
}

export function RunLink({ runId, createdAt, children }: RunLinkProps) {
  const queueId = useQueueId();
  const inTable = use(InTable);
  return (
    <Link
      to="/q/$queueId/runs/$runId"
      params={{ queueId, runId }}
      search={createdAt === undefined ? {} : { createdAt: String(createdAt) }}
      className="mono run-link"
      title={runId}
      {...(inTable ? { tabIndex: -1 } : {})}
    >
      {children ?? (
        // Ids that are made begin with the time: their ends tell them apart.
        <span className="ends">
          <span className="ends-first clip">{runId.slice(0, -TAIL)}</span>
          <span className="ends-last">{runId.slice(-TAIL)}</span>
        </span>
      )}
    </Link>
  );
}
